# distutils: language = c++
"""Find the tokens in which a judged text may end, so that they can be refused where its predicate refuses it.

Each set is looked at once.  A walk down the vocabulary's trie follows two parsers: one that reads on, and one in which
no judged text ever ends.  A token that the first takes and the second does not is one that predicates decide; all
others stay as the mask has them.  Inside of a string nearly every token keeps the parser where it is, so there the walk
leaves out what is quiet: subtrees whose bytes all lead back to such a set.

An end says nothing any more once both parsers do the same again: what it led to is gone.  So of a word that may end
behind each of its letters the last end decides.

With `distinct` rules alone, few tokens are looked at from a set outside of them: those that hold a whole beginning of
an array or object with two equal items.  A vocabulary has a handful of tokens that could.

Read on: `../judging.pyx` (asks predicates), `../earley/marks.pyx`.
"""

from libcpp.algorithm cimport find
from libcpp.mutex cimport mutex, unique_lock

from kernels_core.clock cimport breathe
from kernels_core.earley.interning cimport last_alike
from kernels_core.earley.machine cimport Passage, step
from kernels_core.earley.marks cimport find_watched
from kernels_core.earley.records cimport MARKED, is_live
from kernels_core.grammar.plain_text cimport delimiter_of
from kernels_core.grammar.rules cimport JUDGED
from kernels_core.json_values cimport value_of
from kernels_core.masks.trie cimport OTHER, PLAIN

cdef int32_t NEAR = 16          # bytes that quiet is looked for
cdef int MOST_LAYERED = 256     # sets that are looked at for that


cdef class Endings:
    """Of the tokens in which one text ends that began before them, and decides."""

    cdef dict by_value(self):
        """By value of an item that nothing is read of: the bytes up to its end."""
        cdef dict values = {}
        if self.values is None:
            for text in self.tokens:
                values.setdefault(value_of(text), []).append(text)
            self.values = values
        return self.values


cdef class Ends:
    """The tokens at one set that predicates decide."""


cdef class ItemEnds:
    """ItemEnds(trie, machine, *, anywhere, watches)

    What is known of the sets of one machine.
    """

    def __init__(self, TokenTrie trie, Machine machine, *, bint anywhere, bint watches):
        self.trie, self.machine, self.anywhere, self.watches = trie, machine, anywhere, watches
        self.known, self.alike = {}, {}
        if trie.holding_two_items is None:
            trie.holding_two_items = _holding_two_items(trie)
        self.within = trie.holding_two_items
        self.everything.push_back(-1)
        self.path.resize(trie.max_depth + 1)
        self.kept.resize(trie.max_depth + 1)
        self.ends.resize(trie.max_depth + 1)
        self.frame.resize(trie.max_depth + 1)
        self.length.resize(trie.max_depth + 1)
        self.begun_size.resize(trie.max_depth + 1)
        self.watched.resize(trie.max_depth + 1)

    cdef Ends at(self, SetRec* record):
        """The tokens at `record` that predicates decide; None: there are none.  The caller's clock runs."""
        cdef vector[EndingToken] found
        cdef vector[int32_t] within
        if not record.limits & MARKED and not self.anywhere and not self.within:
            return None
        known = self.known.get(record.number, self)
        if known is not self:
            return <Ends>known
        within = self.within
        with nogil:
            self._find(record, within, found)
        ends = self._put_in_order(found)
        if self.machine.memoize:
            self.known[record.number] = ends
        return ends

    cdef object _put_in_order(self, const vector[EndingToken]& found):
        cdef Ends ends
        cdef Endings endings
        cdef const char* spelling = <const char*>self.trie.spelling.data()
        cdef size_t i
        cdef int32_t first
        if found.empty():
            return None
        key = (<const char*>found.data())[:found.size() * sizeof(EndingToken)]
        known = self.alike.get(key)
        if known is not None:
            return known
        ends = Ends.__new__(Ends)
        ends.by_frame = {}
        for i in range(found.size()):
            if found[i].frame < 0:
                ends.shared.push_back(0 if ends.others.empty() else self._shared(found[i].token, ends.others.back()))
                ends.others.push_back(found[i].token)
                continue
            endings = ends.by_frame.get(found[i].frame)
            if endings is None:
                endings = ends.by_frame[found[i].frame] = Endings.__new__(Endings)
                endings.tokens = {}
            first = self.trie.spelling_first[found[i].token]
            endings.tokens.setdefault(spelling[first:first + found[i].length], []).append(found[i].token)
        for endings in ends.by_frame.values():
            endings.read_in_full = [text for text in endings.tokens if b"\\" in text or not text.endswith(b'"')]
        self.alike[key] = ends
        return ends

    cdef int _find(self, SetRec* record, const vector[int32_t]& within, vector[EndingToken]& found) except -1 nogil:
        """All such tokens at `record`, each once."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.machine.lock[0])
        cdef int32_t first, size, depth
        cdef size_t i
        self.path[0] = self.kept[0] = record
        self.ends[0] = 0
        self.begun_size[0] = 0
        self.watched[0] = 0
        if record.limits & MARKED or self.anywhere:
            return self._walk(found)
        for i in range(within.size()):
            first = self.trie.spelling_first[within[i]]
            size = self.trie.spelling_first[within[i] + 1] - first
            depth = 1
            while depth <= size and self._go(depth, self.trie.spelling[first + depth - 1]):
                depth += 1
            if depth > size:
                self._take(size, within[i], found)
        return 0

    cdef int _walk(self, vector[EndingToken]& found) except -1 nogil:
        cdef int32_t node = 1, past = self.trie.node_count, depth, k
        while node < past:
            depth = self.trie.nodes[node].depth
            self.walked += 1
            breathe(1)
            if not self._go(depth, self.trie.nodes[node].byte):
                node = self.trie.nodes[node].skip
                continue
            for k in range(self.trie.nodes[node].token_first, self.trie.nodes[node + 1].token_first):
                self._take(depth, self.trie.ids[k], found)
            node += 1
            # Nothing has ended, and nothing will below.
            while (node < past and self.trie.nodes[node].depth > depth
                    and self.path[depth] == self.kept[depth] and self._is_quiet(self.path[depth], node)):
                node = self.trie.nodes[node].skip
        return 0

    cdef bint _go(self, int32_t depth, uint8_t byte) except -1 nogil:
        """Read a byte on both ways; False if the parser does not take it."""
        cdef SetRec* source = self.path[depth - 1]
        cdef SetRec* kept = self.kept[depth - 1]
        cdef SetRec* target
        cdef SetRec* without        # where the byte leads if nothing ends with it
        cdef Passage passed, held
        cdef int32_t i, ended = 0, frame = -1
        cdef bint gone = True       # whatever earlier ends led to
        cdef size_t k
        if not is_live(source, byte):
            return False
        self.begun.resize(self.begun_size[depth - 1])
        target = without = step(self.machine, source, byte)
        if target == self.machine.dead:
            return False
        if byte < 0x80 and kept == source and source.limits & MARKED and (
                self._quiet(source).ascii[byte >> 6] >> (byte & 63) & 1):
            self.path[depth] = self.kept[depth] = target
            self.ends[depth], self.begun_size[depth] = 0, self.begun.size()
            self.watched[depth] = self.watched[depth - 1]       # nowhere is quiet where there is one
            return True
        passed.marks = NULL
        if (source.limits | target.limits) & MARKED:
            self.machine.passage(source, byte, self.nothing, &passed)
        if passed.marks != NULL:
            for i in range(passed.marks.ended_count):
                if passed.marks.ended[i].frame != frame and (
                        self.machine.mark_of(passed.marks.ended[i].frame) & JUDGED):
                    frame = passed.marks.ended[i].frame
                    ended += 1
            for k in range(self.begun.size()):
                if self.begun[k].frame == frame:
                    ended = 2               # its text is in the token: no end that is looked up
            for i in range(passed.marks.begun_count):
                self.begun.push_back(Begun(passed.marks.begun[i].frame, depth))
        self.begun_size[depth] = self.begun.size()
        self.path[depth] = target
        self.watched[depth] = self.watched[depth - 1] or self._is_watched(target)
        if ended:
            self.machine.passage(source, byte, self.everything, &held)
            without = held.target
        if kept == source:
            self.kept[depth] = without
        elif kept.limits & MARKED:
            self.machine.passage(kept, byte, self.everything, &held)
            self.kept[depth] = held.target
            if ended:
                self.machine.passage(kept, byte, self.nothing, &held)
                gone = held.target == target
        else:
            self.kept[depth] = step(self.machine, kept, byte)
            gone = not ended or self.kept[depth] == target
        self.ends[depth] = ended + (0 if gone and self.kept[depth] == without else self.ends[depth - 1])
        self.frame[depth], self.length[depth] = self.frame[depth - 1], self.length[depth - 1]
        if ended:
            self.frame[depth], self.length[depth] = frame, depth
        return True

    cdef void _take(self, int32_t depth, int32_t token, vector[EndingToken]& found) noexcept nogil:
        """Note a token whose bytes were read, if predicates decide about it."""
        cdef bint alone
        if self.watched[depth]:
            found.push_back(EndingToken(token, -1, 0))
        elif self.kept[depth] == self.machine.dead:
            alone = self.ends[depth] == 1
            found.push_back(EndingToken(token, self.frame[depth] if alone else -1, self.length[depth] if alone else 0))

    cdef int32_t _shared(self, int32_t token, int32_t other) noexcept nogil:
        """How many bytes two tokens begin with alike."""
        cdef const uint8_t* one = self.trie.spelling.data() + self.trie.spelling_first[token]
        cdef const uint8_t* two = self.trie.spelling.data() + self.trie.spelling_first[other]
        cdef int32_t i, most = min(self.trie.spelling_first[token + 1] - self.trie.spelling_first[token],
                                   self.trie.spelling_first[other + 1] - self.trie.spelling_first[other])
        for i in range(most):
            if one[i] != two[i]:
                return i
        return most

    cdef bint _is_watched(self, SetRec* at) except -1 nogil:
        """Whether some reading at a set is in a text whose beginnings are judged."""
        cdef vector[int32_t] frames
        if not self.watches or not at.limits & MARKED:
            return False
        if not self.watched_at.count(<size_t>at):
            find_watched(self.machine, at, frames)
            self.watched_at[<size_t>at] = not frames.empty()
        return self.watched_at[<size_t>at]

    # -- what is quiet --------------------------------------------------------------------------------------------

    cdef bint _is_quiet(self, SetRec* at, int32_t node) except -1 nogil:
        """Whether nothing judged ends in the subtree of `node`, read from `at`."""
        cdef Quiet* quiet
        cdef int32_t below = self.trie.nodes[node].below
        if self.trie.nodes[node].height >= NEAR:
            return False
        quiet = self._quiet(at)
        if not self.trie.nodes[node].parts & ~quiet.parts:
            return True
        return (below >= 0 and not self.trie.below[below].ascii[0] & ~quiet.ascii[0]
                and not self.trie.below[below].ascii[1] & ~quiet.ascii[1]
                and (quiet.beyond_ascii or not self.trie.below[below].beyond_ascii))

    cdef Quiet* _quiet(self, SetRec* at) except NULL nogil:
        """What is quiet at a set; kept once all of it is known, since a step on the way may raise."""
        cdef Quiet found
        if at != self.quiet_at:
            if not self.quiet.count(<size_t>at):
                self._find_quiet(at, &found)
                _find_parts(&found)
                self.quiet[<size_t>at] = found
            self.quiet_at, self.quiet_there = at, &self.quiet[<size_t>at]
        return self.quiet_there

    cdef int _find_quiet(self, SetRec* start, Quiet* quiet) except -1 nogil:
        """Find the bytes that lead from `start` to sets like it, which differ in what is counted, for so many bytes."""
        cdef vector[SetRec*] layer, following, met, characters
        cdef SetRec* target
        cdef int32_t byte, high, least
        cdef size_t i, n
        quiet.ascii[0] = quiet.ascii[1] = 0
        quiet.beyond_ascii = False
        if self._is_watched(start):
            return 0
        quiet.ascii[0] = quiet.ascii[1] = ~<uint64_t>0
        quiet.beyond_ascii = True
        layer.push_back(start)
        met = layer
        for _ in range(NEAR):
            following.clear()
            for i in range(layer.size()):
                # First the set itself, then those inside of characters that begin at it.
                characters.clear()
                characters.push_back(layer[i])
                n = 0
                while n < characters.size():
                    least = 0 if n == 0 else 0x80
                    byte = least
                    while byte < 256:
                        if not is_live(characters[n], <uint8_t>byte) or byte < 0x80 and not (
                                quiet.ascii[byte >> 6] >> (byte & 63) & 1):
                            byte += 1
                            continue
                        target = step(self.machine, characters[n], <uint8_t>byte)
                        high = last_alike(characters[n], <uint8_t>byte)
                        if byte < 0x80:
                            high = min(high, 0x7F)
                        if self._is_marked(characters[n], target, <uint8_t>byte):
                            _strike(quiet, byte, high)
                        elif _are_alike(start, target):
                            if find(met.begin(), met.end(), target) == met.end():
                                met.push_back(target)
                                following.push_back(target)
                        elif byte < 0x80 or target.live[0] | target.live[1] or n > 16:
                            _strike(quiet, byte, high)
                        elif find(characters.begin(), characters.end(), target) == characters.end():
                            characters.push_back(target)
                        byte = high + 1
                    n += 1
                if met.size() > <size_t>MOST_LAYERED:
                    quiet.ascii[0] = quiet.ascii[1] = 0
                    quiet.beyond_ascii = False
                    return 0
            if following.empty():
                break
            layer.swap(following)
        return 0

    cdef bint _is_marked(self, SetRec* source, SetRec* target, uint8_t byte) except -1 nogil:
        """Whether some text of a marked rule begins or ends with a byte."""
        cdef Passage passed
        if not (source.limits | target.limits) & MARKED:
            return False
        self.machine.passage(source, byte, self.nothing, &passed)
        return passed.marks != NULL


cdef void _strike(Quiet* quiet, int32_t low, int32_t high) noexcept nogil:
    cdef int32_t byte
    if high >= 0x80:
        quiet.beyond_ascii = False
    for byte in range(low, min(high, 0x7F) + 1):
        quiet.ascii[byte >> 6] &= ~(<uint64_t>1 << (byte & 63))


cdef void _find_parts(Quiet* quiet) noexcept nogil:
    """Find the parts of the vocabulary that are spelt in quiet bytes alone."""
    cdef int32_t byte, loud = 0 if quiet.beyond_ascii else 1 << PLAIN
    for byte in range(0x80):
        if not quiet.ascii[byte >> 6] >> (byte & 63) & 1:
            loud |= 1 << delimiter_of(byte)
    quiet.parts = 0 if loud >> PLAIN & 1 else <uint8_t>(~loud & (1 << OTHER) - 1)


cdef bint _are_alike(SetRec* one, SetRec* other) noexcept nogil:
    """Whether sets hold the same items but for what is counted."""
    cdef int32_t i
    if one.count != other.count:
        return False
    for i in range(one.count):
        if one.items[i].state != other.items[i].state or one.items[i].frame != other.items[i].frame:
            return False
    return True


cdef list _holding_two_items(TokenTrie trie):
    """Tokens that have a bracket, and behind it what two equal JSON values are made of: a few of a vocabulary."""
    cdef list found = []
    cdef int32_t token, at, past
    for token in range(trie.vocab_size):
        at, past = trie.spelling_first[token], trie.spelling_first[token + 1]
        while at < past and trie.spelling[at] != c"[" and trie.spelling[at] != c"{":
            at += 1
        if past - at > 2 and trie.everything[token >> 5] >> (token & 31) & 1:
            if _may_hold_two((<const char*>trie.spelling.data())[at + 1:past]):
                found.append(token)
    return found


cdef bint _may_hold_two(bytes text) except -1:
    if text.count(b'"') > 3 or sum([text.count(digit) for digit in b"0123456789"]) > 1:
        return True
    for word in (b"true", b"false", b"null"):
        if text.count(word) > 1:
            return True
    return min(text.count(b"["), text.count(b"]")) > 1 or min(text.count(b"{"), text.count(b"}")) > 1
