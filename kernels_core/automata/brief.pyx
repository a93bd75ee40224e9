# distutils: language = c++
"""Shorthands (`grammar.shorthand`) written straight into an automaton, with no nodes in between.

What stands in a shorthand stands in no body: the states made here stand for the beginning of its rule, besides the
dotted positions of the rules that are spelt out in it.

Read on: `nfa.pyx` (spells what nodes a shorthand holds), `lower.py` (who asks).
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.automata.decisions cimport Decisions
from kernels_core.automata.nfa cimport Nfa, RangeEdge
from kernels_core.grammar.shorthand cimport Besides, Branches, Diagram, Item, Listing
from kernels_core.grammar.tree cimport Never, Node, RuleRef

from kernels_core.automata.nfa import AFTER
from kernels_core.grammar.ir import DeferredRule

__all__ = ["spell_shorthand"]

cdef int32_t START = 0, FINAL = 1
cdef int32_t NOWHERE = -1


cdef struct Branch:
    # Words first..past - 1, in order, begin with the same `depth` letters; `state` stands for having read these.
    int32_t first, past, depth, state


def spell_shorthand(Nfa nfa not None, Decisions lowering not None, shorthand not None, str rule, int32_t limit):
    """Write what `shorthand` says for `rule` between states 0 and 1.  False past `limit` states."""
    cdef int32_t place = nfa.root(rule, ())
    nfa.tag(START, place)
    nfa.tag(FINAL, place, AFTER)
    if isinstance(shorthand, Besides):
        return _spell_besides(nfa, lowering, shorthand, place, limit)
    if isinstance(shorthand, Listing):
        return _spell_listing(nfa, lowering, shorthand, limit)
    if isinstance(shorthand, Branches):
        return _spell_branches(nfa, lowering, shorthand, place, limit)
    if isinstance(shorthand, Diagram):
        return _spell_diagram(nfa, lowering, shorthand, limit)
    raise TypeError(f"{type(shorthand).__name__} is no shorthand")


cdef bint _spell_besides(Nfa nfa, Decisions lowering, Besides besides, int32_t place, int32_t limit) except -1:
    """Texts that are none of some words.

    A state for each prefix of a word.  From it a letter leads on in the tree, or to the rest if no word goes on so.
    """
    cdef uint8_t letters[256]
    cdef vector[Branch] stack
    cdef Branch branch
    cdef list words = sorted(besides.words)
    cdef const unsigned char* text
    cdef int32_t i, k, state, low, beyond, rest, end = besides.end
    for i in range(256):
        letters[i] = 0
    for first, last in besides.letters:
        for i in range(first, last + 1):
            letters[i] = 1
    beyond, rest = nfa.state(), nfa.state()
    if not (nfa.spell(lowering, besides.beyond, beyond, rest, NOWHERE, limit)
            and nfa.spell(lowering, besides.rest, rest, FINAL, NOWHERE, limit)):
        return False
    stack.push_back(Branch(0, <int32_t>len(words), 0, START))
    while not stack.empty():
        branch = stack.back()
        stack.pop_back()
        state, i = branch.state, branch.first
        nfa.epsilon(state, beyond)
        if i < branch.past and <int32_t>len(<bytes>words[i]) == branch.depth:
            i += 1          # the prefix is a word itself
        else:
            nfa.bytes.push_back(RangeEdge(state, end, end, FINAL))
        low = 0             # letters below were seen to
        while i < branch.past:
            text = <bytes>words[i]
            if not letters[text[branch.depth]]:
                raise ValueError(f"{words[i]!r} holds a byte that is no letter")
            _to_rest(nfa, letters, state, low, text[branch.depth] - 1, rest)
            low = text[branch.depth] + 1
            k = i + 1
            while k < branch.past and (<const unsigned char*><bytes>words[k])[branch.depth] == low - 1:
                k += 1
            stack.push_back(Branch(i, k, branch.depth + 1, nfa.state()))
            nfa.bytes.push_back(RangeEdge(state, low - 1, low - 1, stack.back().state))
            nfa.tag(stack.back().state, place)
            i = k
        _to_rest(nfa, letters, state, low, 0x7F, rest)
        if nfa.size > limit:
            return False
    return True


cdef void _to_rest(Nfa nfa, const uint8_t* letters, int32_t state, int32_t low, int32_t high, int32_t rest):
    """Edges for the letters within `low..high`."""
    cdef int32_t first
    while low <= high:
        if not letters[low]:
            low += 1
            continue
        first = low
        while low <= high and letters[low]:
            low += 1
        nfa.bytes.push_back(RangeEdge(state, first, low - 1, rest))


cdef bint _spell_branches(Nfa nfa, Decisions lowering, Branches branches, int32_t place, int32_t limit) except -1:
    """The tree of the words; a rule is called where its word ends."""
    cdef vector[Branch] stack
    cdef Branch branch
    cdef list words = sorted(zip(branches.words, branches.rules))
    cdef const unsigned char* text
    cdef int32_t i, k
    cdef bytes word
    cdef dict rules = lowering.ir.rules
    stack.push_back(Branch(0, <int32_t>len(words), 0, START))
    while not stack.empty():
        branch = stack.back()
        stack.pop_back()
        i = branch.first
        while i < branch.past:
            word, name = <tuple>words[i]
            if <int32_t>len(word) > branch.depth:
                break
            if isinstance(rules[name], DeferredRule):
                nfa.call(branch.state, lowering.rule_id(name), FINAL)       # promised not to be empty
            elif not nfa.spell(lowering, RuleRef(name), branch.state, FINAL, NOWHERE, limit):
                return False
            i += 1
        while i < branch.past:
            text = <bytes>(<tuple>words[i])[0]
            k = i + 1
            while k < branch.past and (<const unsigned char*><bytes>(<tuple>words[k])[0])[branch.depth] == text[branch.depth]:
                k += 1
            stack.push_back(Branch(i, k, branch.depth + 1, nfa.state()))
            nfa.bytes.push_back(RangeEdge(branch.state, text[branch.depth], text[branch.depth], stack.back().state))
            nfa.tag(stack.back().state, place)
            i = k
        if nfa.size > limit:
            return False
    return True


cdef bint _spell_listing(Nfa nfa, Decisions lowering, Listing listing, int32_t limit) except -1:
    """Items in order, then others.

    State `ahead[i]`: items from number i on may follow, and the others; `behind[i]` is its like behind an item, where
    a comma or the closing comes first.  Items that may be left out are passed by an ε-edge.
    """
    cdef vector[int32_t] ahead, behind
    cdef int32_t i, count = <int32_t>len(listing.items), closing, place = NOWHERE
    cdef bint ok = True
    cdef Item item
    for _ in range(count + 1):
        ahead.push_back(nfa.state())
        behind.push_back(nfa.state())
    closing = nfa.state()
    ok = ok and nfa.spell(lowering, listing.opening, START, ahead[0], place, limit)
    for i in range(count):
        item = listing.items[i]
        ok = ok and _spell_item(nfa, lowering, listing.colon, item, ahead[i], behind[i + 1], limit)
        if not item.required:
            nfa.epsilon(ahead[i], ahead[i + 1])
    for item in listing.others:
        ok = ok and _spell_item(nfa, lowering, listing.colon, item, ahead[count], behind[count], limit)
    for i in range(1 if count else 0, count + 1):
        if i < count or listing.others:
            ok = ok and nfa.spell(lowering, listing.comma, behind[i], ahead[i], place, limit)
    # From the end back to the last item that has to be there, the listing may close.
    for i in range(count, 0, -1):
        nfa.epsilon(behind[i], closing)
        if (<Item>listing.items[i - 1]).required:
            break
    if not count:
        nfa.epsilon(behind[0], closing)
    ok = ok and nfa.spell(lowering, listing.closing, closing, FINAL, place, limit)
    if type(listing.empty) is not Never:
        ok = ok and nfa.spell(lowering, listing.empty, START, FINAL, place, limit)
    return ok


cdef bint _spell_item(Nfa nfa, Decisions lowering, Node colon, Item item, int32_t source, int32_t target, int32_t limit) except -1:
    cdef int32_t at = nfa.state(), after = nfa.state()
    return (nfa.spell(lowering, item.key, source, at, NOWHERE, limit)
            and nfa.spell(lowering, colon, at, after, NOWHERE, limit)
            and nfa.spell(lowering, item.value, after, target, NOWHERE, limit))


cdef bint _spell_diagram(Nfa nfa, Decisions lowering, Diagram diagram, int32_t limit) except -1:
    """A state for each but the last, which is the final one."""
    cdef int32_t first = nfa.size, last = diagram.size - 1, source, target
    cdef tuple edge
    nfa.size += last
    nfa.epsilon(START, first)
    for edge in diagram.edges:
        source, target = edge[0], edge[2]
        if not 0 <= source < last or not 0 <= target <= last:
            raise ValueError(f"no edge can lead from state {source} to state {target} of {diagram.size}")
        target = FINAL if target == last else first + target
        if not nfa.spell(lowering, <Node?>edge[1], first + source, target, NOWHERE, limit):
            return False
    return True
