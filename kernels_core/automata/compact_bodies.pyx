# distutils: language = c++
"""Write compact bodies (`grammar.compact_body`) straight into an NFA, with no nodes in between.

A compact body has no place in a grammar's text: the states made here stand for the beginning of its rule, besides the
dotted positions of the rules that are inlined in it.

Read on: `nfa.pyx` (writes what nodes a compact body holds), `lower.py` (who asks).
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.edges cimport Epsilon
from kernels_core.automata.lengths cimport ENDLESS, Lengths
from kernels_core.automata.nfa cimport C_AFTER, Nfa, RangeEdge
from kernels_core.automata.size_estimate cimport CALL, Callee
from kernels_core.automata.unordered cimport spell_listing
from kernels_core.automata.word_trie cimport Branch, Letters, WordTrie, branch_of, is_prefix
from kernels_core.grammar.compact_body cimport ExcludedWords, Bounded, Branches, Diagram, Item, Listing, Row, CompactBody, Words
from kernels_core.grammar.tree cimport HOLDS_CALLS, HOLDS_TOKENS, CharSet, Empty, Literal, Never, Node, RuleRef

from kernels_core.errors import BudgetExceededError
from kernels_core.grammar.ir import DeferredRule

__all__ = ["prefix_at", "spell_compact_body", "traced"]

cdef int32_t START = 0, FINAL = 1
cdef int32_t NOWHERE = -1

cdef int MOST_AROUND = 64


cpdef bint spell_compact_body(Nfa nfa, Inlining lowering, CompactBody compact, str rule, int32_t limit) except -1:
    """Write what `compact` says for `rule` between states 0 and 1.  False past `limit` states."""
    cdef int32_t place = nfa.root(rule, ())
    nfa.tag(START, place)
    nfa.tag(FINAL, place, C_AFTER)
    kind = type(compact)
    if kind is ExcludedWords:
        return _spell_excluded_words(nfa, lowering, <ExcludedWords>compact, limit)
    if kind is Listing:
        return _spell_listing(nfa, lowering, <Listing>compact, limit)
    if kind is Row:
        return _spell_row(nfa, lowering, <Row>compact, limit)
    if kind is Words:
        return _spell_words(nfa, (<Words>compact).words, limit)
    if kind is Branches:
        return _spell_branches(nfa, lowering, <Branches>compact, place, limit)
    if kind is Diagram:
        return _spell_diagram(nfa, lowering, <Diagram>compact, limit)
    if kind is Bounded:
        return _spell_bounded(nfa, lowering, <Bounded>compact, limit)
    raise TypeError(f"{kind.__name__} is no compact body")


def traced(Inlining lowering, CompactBody compact, str rule not None):
    """The automaton of `compact` once more, for people: its states are tagged with the parts that they stand in.

    `Nfa.part_at` tells the part, and where in it, of the places of its tags (`Nfa.tags_of`); the offset is that in a
    literal:

    - Listing: 0 opening, 1 empty, 2 closing; of item i (the others follow the items) 3 + 4 i the comma before it, 4 + 4
    i
      its key, 5 + 4 i the colon, 6 + 4 i the value.
    - Row: 0 opening, 1 empty, 2 closing, 3 the first item, 4 a comma, 5 another item.
    - Words, Branches: k is the first word in order of those that begin with `offset` letters which were read.
    - Diagram, Bounded: k is the state that an edge leaves.

    `lowering` must have made the automaton of this very compact body before: nothing is decided here.
    """
    cdef Nfa nfa = Nfa.__new__(Nfa)
    cdef int32_t limit = lowering.limits.most_states
    if type(compact) is Listing:
        nfa.root(rule, ())
        _spell_listing(nfa, lowering, <Listing>compact, limit, True)
    elif type(compact) is Row:
        _spell_row(nfa, lowering, <Row>compact, limit, True)
    elif type(compact) is Words:
        _spell_words(nfa, (<Words>compact).words, limit, True)
    elif type(compact) is Branches:
        _spell_branches(nfa, lowering, <Branches>compact, nfa.root(rule, ()), limit, True)
    elif type(compact) is Diagram:
        _spell_diagram(nfa, lowering, <Diagram>compact, limit, True)
    elif type(compact) is Bounded:
        _spell_bounded(nfa, lowering, <Bounded>compact, limit, True)
    else:
        raise TypeError(f"the parts of a {type(compact).__name__} are not traced")
    return nfa


def prefix_at(Nfa nfa not None, int state):
    """The letters read at a state of the automaton of an `ExcludedWords`, if they are a prefix of its words, or None."""
    cdef const WordTrie* tree = nfa.words.get()
    cdef Branch branch
    cdef int32_t first
    if not is_prefix(tree, state):
        return None
    branch = branch_of(tree, state)
    if branch.depth == 0:
        return b""
    first = tree.word_first[branch.first]
    return bytes([tree.spelling[first + i] for i in range(branch.depth)])


cdef inline int32_t _part(bint trace, int32_t number) noexcept:
    """The place of a part of a compact body: none, unless it is traced."""
    return -2 - number if trace else NOWHERE


cdef bint _spell_excluded_words(Nfa nfa, Inlining lowering, ExcludedWords excluded, int32_t limit) except -1:
    """Texts that are none of some words.

    A state for each prefix of a word.  From it a letter leads on in the tree, or to the rest if no word goes on so.
    These edges are not written, but found in the tree (`WordTrie`); all else is the same automaton in all grammars.
    """
    cdef WordTrie* tree
    cdef Callee rest = None
    cdef bytes word
    cdef uint8_t letter
    if type(excluded.rest) is RuleRef and not excluded.beyond.holds & (HOLDS_CALLS | HOLDS_TOKENS):
        rest = lowering.decided((<RuleRef>excluded.rest).name)
    if rest is not None and rest.call_kind == CALL and not rest.left_out:
        nfa.copy_laid_out(_around(lowering, excluded))
        nfa.symbols[0].symbol = 2 * rest.number
    elif not _spell_around(nfa, lowering, excluded, excluded.rest, limit):
        return False
    tree = nfa.words.get()
    for word in sorted(excluded.words):
        tree.word_first.push_back(<int32_t>tree.spelling.size())
        for letter in word:
            if not _is_letter(tree, letter):
                raise ValueError(f"{word!r} holds a byte that is no letter")
            tree.spelling.push_back(letter)
        tree.spelling.push_back(tree.end)
    tree.word_first.push_back(<int32_t>tree.spelling.size())
    nfa.add_states(<int32_t>tree.spelling.size())
    return nfa.size <= limit


cdef inline bint _is_letter(const WordTrie* tree, uint8_t byte) noexcept:
    return tree.letters[byte >> 6] >> (byte & 63) & 1


cdef Nfa _around(Inlining lowering, ExcludedWords excluded):
    """What is around the words of `excluded`, where only the rest is called: rule 0 is called in its place."""
    cdef Nfa around
    cdef dict automata = lowering.limits.around
    cdef tuple key = (<size_t><void*>excluded.beyond, <size_t><void*>excluded.letters, excluded.end)
    known = automata.get(key)
    if known is None:
        around = Nfa.__new__(Nfa)
        if not _spell_around(around, lowering, excluded, None, lowering.limits.most_states):
            raise BudgetExceededError("automaton states", lowering.options.max_states, "what is no letter")
        if len(automata) >= MOST_AROUND:
            automata.clear()
        known = automata[key] = (excluded.beyond, excluded.letters, around)
    return <Nfa>(<tuple>known)[2]


cdef bint _spell_around(Nfa nfa, Inlining lowering, ExcludedWords excluded, Node rest, int32_t limit) except -1:
    """Write what `excluded` is without its words, and lay out its edges; the last state is that of no letters.

    No `rest`: a call of rule 0.
    """
    cdef WordTrie* tree = new WordTrie()
    cdef int32_t i
    nfa.words.reset(tree)
    tree.letters[0] = tree.letters[1] = tree.letters[2] = tree.letters[3] = 0
    for first, last in excluded.letters:
        tree.ranges.push_back(Letters(first, last))
        for i in range(first, last + 1):
            tree.letters[i >> 6] |= <uint64_t>1 << (i & 63)
    tree.end, tree.beyond, tree.any_text = excluded.end, nfa.state(), nfa.state()
    if rest is None:
        nfa.call(tree.any_text, 0, FINAL)
    elif not nfa.spell(lowering, rest, tree.any_text, FINAL, NOWHERE, limit):
        return False
    if not nfa.spell(lowering, excluded.beyond, tree.beyond, tree.any_text, NOWHERE, limit):
        return False
    tree.nfa_state = nfa.state()
    nfa.epsilon(START, tree.nfa_state)
    nfa.lay_out_edges()
    nfa.alive[START] = nfa.alive[tree.nfa_state] = 1
    return True


cdef bint _spell_branches(Nfa nfa, Inlining lowering, Branches branches, int32_t place, int32_t limit,
                          bint trace=False) except -1:
    """The tree of the words; a rule is called where its word ends."""
    cdef vector[Branch] stack
    cdef vector[int32_t] states         # of the branches in `stack`
    cdef Branch branch
    cdef list words = sorted(zip(branches.words, branches.rules))
    cdef const unsigned char* text
    cdef int32_t i, k, state
    cdef bytes word
    cdef dict rules = lowering.ir.rules
    stack.push_back(Branch(0, <int32_t>len(words), 0))
    states.push_back(START)
    while not stack.empty():
        branch, state = stack.back(), states.back()
        stack.pop_back()
        states.pop_back()
        i = branch.first
        while i < branch.past:
            word, name = <tuple>words[i]
            if <int32_t>len(word) > branch.depth:
                break
            if isinstance(rules[name], DeferredRule):
                nfa.call(state, lowering.rule_id(name), FINAL)       # promised not to be empty
            elif not nfa.spell(lowering, RuleRef(name), state, FINAL, NOWHERE, limit):
                return False
            i += 1
        while i < branch.past:
            text = <bytes>(<tuple>words[i])[0]
            k = i + 1
            while k < branch.past and (<const unsigned char*><bytes>(<tuple>words[k])[0])[branch.depth] == text[branch.depth]:
                k += 1
            stack.push_back(Branch(i, k, branch.depth + 1))
            states.push_back(nfa.state())
            nfa.bytes.push_back(RangeEdge(state, text[branch.depth], text[branch.depth], states.back()))
            nfa.tag(states.back(), place)
            if trace:
                nfa.tag(states.back(), _part(True, i), branch.depth + 1)
            i = k
        if nfa.size > limit:
            return False
    return True


cdef bint _spell_listing(Nfa nfa, Inlining lowering, Listing listing, int32_t limit, bint trace=False) except -1:
    """The opening, items in order, then others, and the closing; or all there is where there is nothing.

    Without an order: `spell_listing`.

    State `ahead[i]`: items from number i on may follow, and the others; `behind[i]` is its like behind an item, where
    a comma or the closing comes first.  Items that may be left out are passed by an ε-edge.
    """
    cdef vector[int32_t] ahead, behind
    cdef int32_t i, count = <int32_t>len(listing.items), closing, part
    cdef bint ok
    cdef Item item
    if not listing.in_order:
        return spell_listing(nfa, lowering, listing, limit, trace)
    for _ in range(count + 1):
        ahead.push_back(nfa.state())
        behind.push_back(nfa.state())
    closing = nfa.state()
    ok = nfa.spell(lowering, listing.opening, START, ahead[0], _part(trace, 0), limit)
    for i in range(count):
        item = listing.items[i]
        ok = ok and _spell_item(nfa, lowering, listing.colon, item, ahead[i], behind[i + 1], limit,
                                3 + 4 * i if trace else 0)
        if not item.required:
            nfa.epsilon(ahead[i], ahead[i + 1])
    part = 3 + 4 * count
    for item in listing.others:
        ok = ok and _spell_item(nfa, lowering, listing.colon, item, ahead[count], behind[count], limit,
                                part if trace else 0)
        part += 4
    for i in range(1 if count else 0, count + 1):
        if i < count or listing.others:
            ok = ok and nfa.spell(lowering, listing.comma, behind[i], ahead[i], _part(trace, 3 + 4 * i), limit)
    # From the end back to the last item that has to be there, the listing may close.
    for i in range(count, 0, -1):
        nfa.epsilon(behind[i], closing)
        if (<Item>listing.items[i - 1]).required:
            break
    if not count:
        nfa.epsilon(behind[0], closing)
    ok = ok and nfa.spell(lowering, listing.closing, closing, FINAL, _part(trace, 2), limit)
    return ok and (type(listing.empty) is Never
                   or nfa.spell(lowering, listing.empty, START, FINAL, _part(trace, 1), limit))


cdef bint _spell_item(Nfa nfa, Inlining lowering, Node colon, Item item, int32_t source, int32_t target, int32_t limit,
                      int32_t part) except -1:
    """`part`: that of the comma before the item, where parts are traced; else 0."""
    cdef int32_t at = nfa.state(), after = nfa.state()
    return (nfa.spell(lowering, item.key, source, at, _part(part, part + 1), limit)
            and nfa.spell(lowering, colon, at, after, _part(part, part + 2), limit)
            and nfa.spell(lowering, item.value, after, target, _part(part, part + 3), limit))


cdef bint _spell_words(Nfa nfa, tuple words, int32_t limit, bint trace=False) except -1:
    """The tree of the words; its leaves are the final state."""
    cdef vector[Branch] stack
    cdef vector[int32_t] states         # of the branches in `stack`
    cdef Branch branch
    cdef int32_t i, k, state, target, depth
    cdef uint8_t letter
    stack.push_back(Branch(0, <int32_t>len(words), 0))
    states.push_back(START)
    while not stack.empty():
        branch, state = stack.back(), states.back()
        stack.pop_back()
        states.pop_back()
        i, depth = branch.first, branch.depth
        if i < branch.past and len(<bytes?>words[i]) == depth:
            nfa.epsilon(state, FINAL)       # the prefix is a word itself
            i += 1
        while i < branch.past:
            letter = (<const uint8_t*><const char*><bytes>words[i])[depth]
            k = i + 1
            while k < branch.past and (<const uint8_t*><const char*><bytes>words[k])[depth] == letter:
                k += 1
            if k == i + 1 and len(<bytes?>words[i]) == depth + 1:
                target = FINAL
            else:
                target = nfa.state()
                stack.push_back(Branch(i, k, depth + 1))
                states.push_back(target)
            nfa.bytes.push_back(RangeEdge(state, letter, letter, target))
            if trace and target != FINAL:
                nfa.tag(target, _part(True, i), depth + 1)
            i = k
        if nfa.size > limit:
            return False
    return True


cdef bint _spell_row(Nfa nfa, Inlining lowering, Row row, int32_t limit, bint trace=False) except -1:
    """A state in front of each item that is counted and one behind it; without a most the last two are a loop."""
    cdef int32_t copies = max(1, row.least) if row.most < 0 else row.most, closing = nfa.state(), ahead = nfa.state()
    cdef int32_t behind = NOWHERE, count
    if not nfa.spell(lowering, row.opening, START, ahead, _part(trace, 0), limit):
        return False
    for count in range(1, copies + 1):
        if count > 1:
            ahead = nfa.state()
            if not nfa.spell(lowering, row.comma, behind, ahead, _part(trace, 4), limit):
                return False
        behind = nfa.state()
        if not nfa.spell(lowering, row.item, ahead, behind, _part(trace, 3 if count == 1 else 5), limit):
            return False
        if count >= row.least:
            nfa.epsilon(behind, closing)
    if row.most < 0 and not nfa.spell(lowering, row.comma, behind, ahead, _part(trace, 4), limit):
        return False
    if row.least == 0 and not nfa.spell(lowering, row.empty, START, FINAL, _part(trace, 1), limit):
        return False
    return nfa.spell(lowering, row.closing, closing, FINAL, _part(trace, 2), limit)


cdef bint _spell_diagram(Nfa nfa, Inlining lowering, Diagram diagram, int32_t limit, bint trace=False) except -1:
    """A state for each but the last, which is the final one.

    Most states of a search lead to the same few with the same labels: what is between the bytes of such a label is
    there once, so that all of them go on in the same states within a character.
    """
    cdef int32_t first = nfa.size, last = diagram.size - 1, source, target
    cdef dict entries = {}
    cdef tuple edge
    cdef Node label
    nfa.size += last
    nfa.may_be_dead = True
    nfa.epsilon(START, first)
    for edge in diagram.edges:
        source, label, target = edge
        if not 0 <= source < last or not 0 <= target <= last:
            raise ValueError(f"no edge can lead from state {source} to state {target} of {diagram.size}")
        target = FINAL if target == last else first + target
        if trace:
            nfa.tag(first + source, _part(True, source))
        if _is_byte(label):
            if not nfa.spell(lowering, label, first + source, target, NOWHERE, limit):
                return False
            continue
        key = (<size_t><void*>label, target)
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = nfa.state()
            if not nfa.spell(lowering, label, entry, target, NOWHERE, limit):
                return False
        nfa.epsilon(first + source, entry)
    return True


cdef bint _is_byte(Node label) except -1:
    """Whether the texts of `label` are certainly one byte each."""
    cdef tuple ranges
    if type(label) is Literal:
        return len((<Literal>label).value) == 1
    if type(label) is CharSet:
        ranges = (<CharSet>label).ranges
        return len(ranges) > 0 and <int>(<tuple>ranges[len(ranges) - 1])[1] < 0x80
    return False


cdef bint _spell_bounded(Nfa nfa, Inlining lowering, Bounded bounded, int32_t limit, bint trace=False) except -1:
    """A state for each, between characters, and what is known of the lengths from each of all states.

    Without an opening the rule's start has the edges of the first state, and is none itself: nothing leads back to it,
    and a rule does not end where it begins.
    """
    cdef int32_t first = nfa.size, source, target
    cdef bint opened = type(bounded.opening) is not Empty
    cdef tuple edge
    cdef Lengths* lengths = new Lengths()
    nfa.lengths.reset(lengths)
    nfa.size += bounded.size
    nfa.may_be_dead = True
    if opened and not nfa.spell(lowering, bounded.opening, START, first, NOWHERE, limit):
        return False
    for edge in bounded.edges:
        source, target = edge[0], edge[2]
        if not 0 <= source < bounded.size or not 0 <= target < bounded.size:
            raise ValueError(f"no edge can lead from state {source} to state {target} of {bounded.size}")
        if trace:
            nfa.tag(first + source, _part(True, source))
        if not nfa.spell(lowering, <Node?>edge[1], first + source, first + target, NOWHERE, limit):
            return False
        if source == 0 and not opened and not nfa.spell(lowering, <Node>edge[1], START, first + target, NOWHERE, limit):
            return False
    for source in bounded.accepting:
        if not nfa.spell(lowering, bounded.closing, first + source, FINAL, NOWHERE, limit):
            return False
    lengths.before = opened
    lengths.least, lengths.most = bounded.least + lengths.before, bounded.most + lengths.before
    lengths.between.assign(nfa.size, False)
    lengths.least_left.assign(nfa.size, ENDLESS)
    lengths.most_left.assign(nfa.size, 0)
    lengths.reserve = 0
    for source, (least, most) in enumerate(bounded.spans):
        lengths.between[first + source] = True
        lengths.least_left[first + source] = least
        lengths.most_left[first + source] = ENDLESS if most is None else most
        lengths.reserve = max(lengths.reserve, <int32_t>least + 1)
    lengths.least_left[FINAL] = 0
    _find_lengths(nfa, first, first + bounded.size)
    return True


cdef void _find_lengths(Nfa nfa, int32_t first, int32_t past) noexcept:
    """Fill the lengths of `nfa` in from those of the states `first` to `past`, and of the final one.

    All other states are within one character, so their edges lead to one place between characters; an edge there
    completes it.
    """
    cdef Lengths* lengths = nfa.lengths.get()
    cdef size_t k
    cdef RangeEdge edge
    cdef Epsilon skip
    cdef bint changed = True
    while changed:
        changed = False
        for k in range(nfa.epsilons.size()):
            skip = nfa.epsilons[k]
            if not first <= skip.source < past:
                if lengths.between[skip.target] and not lengths.between[skip.source]:
                    lengths.between[skip.source] = changed = True
                changed |= _widen(lengths, skip.source, skip.target, 0)
        for k in range(nfa.bytes.size()):
            edge = nfa.bytes[nfa.bytes.size() - 1 - k]
            if not first <= edge.source < past:
                changed |= _widen(lengths, edge.source, edge.target, lengths.between[edge.target])


cdef inline bint _widen(Lengths* lengths, int32_t source, int32_t target, int32_t characters) noexcept:
    """Note that `characters` lead from `source` to `target`; whether that is news."""
    cdef int32_t least = min(lengths.least_left[target] + characters, <int32_t>ENDLESS)
    cdef int32_t most = min(lengths.most_left[target] + characters, <int32_t>ENDLESS)
    if least == ENDLESS or least >= lengths.least_left[source] and most <= lengths.most_left[source]:
        return False
    lengths.least_left[source] = min(lengths.least_left[source], least)
    lengths.most_left[source] = max(lengths.most_left[source], most)
    return True
