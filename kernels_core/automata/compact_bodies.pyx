# distutils: language = c++
"""Write compact bodies (`grammar.compact_body`) straight into an NFA, with no nodes in between.

A compact body has no place in a grammar's text: the states made here stand for the beginning of its rule, besides the
dotted positions of the rules that are inlined in it.

Read on: `nfa.pyx` (writes what nodes a compact body holds), `lower.py` (who asks).
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.edges cimport Epsilon
from kernels_core.automata.lengths cimport ENDLESS, Lengths
from kernels_core.automata.nfa cimport C_AFTER, Nfa, RangeEdge
from kernels_core.automata.word_trie cimport Branch, Letters, WordTrie, branch_of, is_prefix
from kernels_core.grammar.compact_body cimport CompactBody, Diagram, ExcludedWords, ListedWords
from kernels_core.grammar.tree cimport CharSet, Empty, Literal, Node

cdef int32_t START = 0, FINAL = 1
cdef int32_t NOWHERE = -1

FIRST_STATE = 2      # of the NFA: the first one of a diagram

cdef uint8_t NO_LETTER = 0xFF        # in no UTF-8


cpdef bint spell_compact_body(Nfa nfa, Inlining lowering, CompactBody compact, str rule, int32_t limit) except -1:
    """Write what `compact` says for `rule` between states 0 and 1.  False past `limit` states."""
    cdef int32_t place = nfa.root(rule, ())
    nfa.tag(START, place)
    nfa.tag(FINAL, place, C_AFTER)
    kind = type(compact)
    if kind is ExcludedWords:
        return _spell_excluded_words(nfa, lowering, <ExcludedWords>compact, limit)
    if kind is ListedWords:
        return _spell_listed_words(nfa, <ListedWords>compact, limit)
    if kind is Diagram:
        return _spell_diagram(nfa, lowering, <Diagram>compact, limit)
    raise TypeError(f"{kind.__name__} is no compact body")


def prefix_at(Nfa nfa not None, int state):
    """The letters read at a state of the automaton of an `ExcludedWords` or a `ListedWords`, if they are a prefix of its
    words, or None."""
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


cdef bint _spell_excluded_words(Nfa nfa, Inlining lowering, ExcludedWords excluded, int32_t limit) except -1:
    """Texts that are none of some words.

    A state for each prefix of a word.  From it a letter leads on in the tree, or to the rest if no word goes on so.
    These edges are not written, but found in the tree (`WordTrie`).
    """
    cdef WordTrie* tree
    cdef bytes word
    cdef uint8_t letter
    if not _spell_around(nfa, lowering, excluded, limit):
        return False
    tree = nfa.words.get()
    for word in excluded.words:
        for letter in word:
            if not _is_letter(tree, letter):
                raise ValueError(f"{word!r} holds a byte that is no letter")
    return _put_words(nfa, tree, sorted(excluded.words), limit)


cdef bint _spell_listed_words(Nfa nfa, ListedWords listed, int32_t limit) except -1:
    """A state for each prefix of a word; its edges, and the calls behind words, are found in the tree (`WordTrie`)."""
    cdef WordTrie* tree = new WordTrie()
    nfa.words.reset(tree)
    tree.lists, tree.end, tree.beyond, tree.any_text = True, NO_LETTER, NOWHERE, NOWHERE
    tree.letters[0] = tree.letters[1] = tree.letters[2] = tree.letters[3] = 0
    tree.nfa_state = nfa.state()
    nfa.epsilon(START, tree.nfa_state)
    nfa.lay_out_edges()
    return _put_words(nfa, tree, listed.words, limit)


cdef bint _put_words(Nfa nfa, WordTrie* tree, words, int32_t limit) except -1:
    """Write words, in order, into a tree, with a state for each of their prefixes.  False past `limit` states."""
    cdef bytes word
    cdef const uint8_t* letters
    for word in words:
        letters = word
        tree.word_first.push_back(<int32_t>tree.spelling.size())
        tree.spelling.insert(tree.spelling.end(), letters, letters + len(word))
        tree.spelling.push_back(tree.end)
    tree.word_first.push_back(<int32_t>tree.spelling.size())
    nfa.add_states(<int32_t>tree.spelling.size())
    return nfa.size <= limit


cdef inline bint _is_letter(const WordTrie* tree, uint8_t byte) noexcept:
    return tree.letters[byte >> 6] >> (byte & 63) & 1


cdef bint _spell_around(Nfa nfa, Inlining lowering, ExcludedWords excluded, int32_t limit) except -1:
    """Write what `excluded` is without its words, and lay out its edges; the last state is that of no letters."""
    cdef WordTrie* tree = new WordTrie()
    cdef int32_t i
    nfa.words.reset(tree)
    tree.lists = False
    tree.letters[0] = tree.letters[1] = tree.letters[2] = tree.letters[3] = 0
    for first, last in excluded.letters:
        tree.ranges.push_back(Letters(first, last))
        for i in range(first, last + 1):
            tree.letters[i >> 6] |= <uint64_t>1 << (i & 63)
    tree.end, tree.beyond, tree.any_text = excluded.end, nfa.state(), nfa.state()
    if not nfa.spell(lowering, excluded.rest, tree.any_text, FINAL, NOWHERE, limit):
        return False
    if not nfa.spell(lowering, excluded.beyond, tree.beyond, tree.any_text, NOWHERE, limit):
        return False
    tree.nfa_state = nfa.state()
    nfa.epsilon(START, tree.nfa_state)
    nfa.lay_out_edges()
    nfa.alive[START] = nfa.alive[tree.nfa_state] = 1
    return True


cdef bint _spell_diagram(Nfa nfa, Inlining lowering, Diagram diagram, int32_t limit) except -1:
    """A state for each, between labels.

    Most states of a search lead to the same few with the same labels: what is between the bytes of such a label is
    there once, so that all of them go on in the same states within a character.

    Without an opening the rule's start has the edges of the first state, and is none itself: nothing leads back to it,
    and a rule does not end where it begins.
    """
    cdef int32_t first = nfa.size, source, target, at
    cdef bint opened = type(diagram.opening) is not Empty
    cdef dict entries = {}
    cdef tuple edge
    cdef Node label
    nfa.size += diagram.size
    nfa.may_be_dead = True
    if opened and not nfa.spell(lowering, diagram.opening, START, first, NOWHERE, limit):
        return False
    for edge in diagram.edges:
        source, label, target = edge
        if not 0 <= source < diagram.size or not 0 <= target <= diagram.size:
            raise ValueError(f"no edge can lead from state {source} to state {target} of {diagram.size}")
        target = FINAL if target == diagram.size else first + target
        for at in [first + source] if source or opened else [first, START]:
            if _is_byte(label):
                if not nfa.spell(lowering, label, at, target, NOWHERE, limit):
                    return False
                continue
            key = (<size_t><void*>label, target)
            entry = entries.get(key)
            if entry is None:
                entry = entries[key] = nfa.state()
                if not nfa.spell(lowering, label, entry, target, NOWHERE, limit):
                    return False
            nfa.epsilon(at, entry)
    for source in diagram.accepting:
        if not nfa.spell(lowering, diagram.closing, first + source, FINAL, NOWHERE, limit):
            return False
    if diagram.spans is not None:
        _count_labels(nfa, diagram, first, opened)
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


cdef int _count_labels(Nfa nfa, Diagram diagram, int32_t first, bint opened) except -1:
    """Note what is known of the lengths from each of all states; those between labels are from `first` on."""
    cdef int32_t state = first
    cdef Lengths* lengths = new Lengths()
    nfa.lengths.reset(lengths)
    lengths.before = opened
    lengths.least, lengths.most = diagram.least + lengths.before, diagram.most + lengths.before
    lengths.between.assign(nfa.size, False)
    lengths.least_left.assign(nfa.size, ENDLESS)
    lengths.most_left.assign(nfa.size, 0)
    lengths.reserve = 0
    for least, most in diagram.spans:
        lengths.between[state] = True
        lengths.least_left[state] = least
        lengths.most_left[state] = ENDLESS if most is None else most
        lengths.reserve = max(lengths.reserve, <int32_t>least + 1)
        state += 1
    lengths.least_left[FINAL] = 0
    _find_lengths(nfa, first, state)
    return 0


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
