# distutils: language = c++
"""Accept whole subtrees of the vocabulary's trie where every byte in them keeps the parser alive.

Within a string, an identifier or a comment nearly every token is accepted, and a walk would visit all of them to find
that out.  The trie knows of each subtree which bytes occur in it (`trie.Below`), and here it is found out once for a
set which bytes may follow, in any order, for so many bytes: the sets that they lead to are explored layer by layer, and
a byte that is dead somewhere, or leads to where little may follow (the byte that ends a string), is struck off.  Most
often the exploration closes soon: a string leads back to itself, the search for a word in it to a few sets.  If a
subtree is no deeper than that and has no other bytes, all tokens in it are accepted.  What is left to walk are the
subtrees with that byte, a line break, a broken character in them: a few per cent of the vocabulary.

Nothing is lowered for this: a byte behind which a rule begins that no text has come to yet is struck off as if little
could follow it.  Free text does not lower the hundreds of calls that it may lead to.

Read on: `trie_walk.pyx`, which asks.
"""

from kernels_core.earley.interning cimport last_alike
from kernels_core.earley.machine cimport step
from kernels_core.laboratory cimport WHOLE_SUBTREES, has
from kernels_core.masks.bits cimport lowest, ones
from kernels_core.masks.self_loops cimport loop_of
from kernels_core.masks.thresholds cimport thresholds
from kernels_core.masks.trie cimport bytes_of_class, plain_next

cdef int32_t LENGTHS = 1 << 30      # more bytes than any token has
cdef size_t ENTRY = 32              # bytes of an entry of a map, without what it holds


cdef class WholeSubtrees:
    """What is known of the sets of one machine.  With the machine's lock held; sets live as long as the machine."""

    def __init__(self, Machine machine):
        self.machine = machine
        self.several = &self.mixed

    cdef size_t held(self) noexcept nogil:
        """Bytes of what is known."""
        return (sizeof(Reach) + ENTRY) * self.reaches.size() + self.layers_held

    cdef Reach* reach(self, SetRec* source) noexcept nogil:
        """What is known of `source`; it stays where it is."""
        cdef Reach* found = &self.reaches[<size_t>source]
        found.source = source
        return found

    cdef SetRec* find_common(self, Reach* at, int class_) except NULL nogil:
        """`step_alike`, when it is asked for the first time."""
        at.to[class_] = self._find_common(at.source, class_)
        at.asked |= 1 << class_
        return at.to[class_]

    cdef SetRec* _find_common(self, SetRec* source, int class_) except NULL nogil:
        cdef const uint64_t* bytes = bytes_of_class(class_)
        cdef uint64_t word
        cdef int w
        cdef SetRec* common = NULL
        cdef SetRec* target
        for w in range(4):
            if source.live[w] & bytes[w] and bytes[w] & ~source.live[w]:
                return self.several
        for w in range(4):
            word = bytes[w]
            while word:
                target = step(self.machine, source, <uint8_t>(64 * w + lowest(word)))
                word &= word - 1
                if common == NULL:
                    common = target
                elif common != target:
                    return self.several
        return common

    cdef int explore(self, Reach* at, int32_t longest) except -1 nogil:
        """Find out what `takes_all` asks for; `longest`: bytes of a token."""
        cdef uint64_t[4] loop
        cdef Bytes left
        left.word[0], left.word[1] = at.source.live[0], at.source.live[1]
        at.layers.clear()               # an error may have ended the last time
        at.explored = not has(WHOLE_SUBTREES)
        if at.explored:
            return 0
        longest = min(longest, thresholds.subtree_depth)
        self.machine.lowers = False
        try:
            if self.given_up < thresholds.subtree_failures:
                self._explore(at, longest, left)
                self.given_up += not at.closed
                at.ended = at.closed
            if not at.closed and loop_of(self.machine, at.source, loop):       # a name that calls may follow
                at.characters = min(at.characters, <int32_t>at.layers.size() - 1)
                left.word[0], left.word[1] = loop[0], loop[1]
                at.layers.push_back(left)
                at.closed = True
        finally:
            self.machine.lowers = True
        self.layers_held += sizeof(Bytes) * at.layers.size()
        at.explored = True
        return 0

    cdef bint takes_apart(self, TokenTrie trie, Reach* at, int32_t height, const Below* below) except -1 nogil:
        """`takes_all` where that is False: without the bytes that do not occur below, as they may lead to where others
        end.  In free text with tags a `>` ends what a `<` begins, and most of the vocabulary holds no `<`.
        """
        cdef Reach apart
        cdef Bytes left
        cdef int w
        for w in range(2):
            if not at.ended or at.layers.size() < 2 or below.ascii[w] & ~at.layers[1].word[w]:
                return False            # it leads to ever new sets, or is dead at once
            left.word[w] = at.source.live[w] & below.ascii[w]
        apart.source, apart.explored, apart.closed = at.source, True, False
        self.machine.lowers = False
        try:
            self._explore(&apart, min(trie.max_depth, thresholds.subtree_depth), left)
        finally:
            self.machine.lowers = True
        return takes_all(self, trie, &apart, height, below)

    cdef int _explore(self, Reach* at, int32_t longest, Bytes left) except -1 nogil:
        """Fill `layers`: the sets met first after n bytes, of those in `left`, are looked at together."""
        cdef Bytes usual               # narrow is where more than half of the usual bytes are dead
        cdef int32_t length = 0
        cdef size_t i, k, most = self.machine.sets.size() + thresholds.subtree_new_sets
        usual.word[0], usual.word[1] = at.source.live[0], at.source.live[1]
        self.seen.clear()
        self.after.clear()
        self._meet(at.source, 0)
        at.characters = LENGTHS
        at.layers.push_back(left)
        while length < longest and self.seen.size() < thresholds.subtree_sets:
            self.now.swap(self.after)
            self.after.clear()
            if self.now.empty() or (at.characters < length and not (left.word[0] | left.word[1])):
                at.closed = True
                return 0
            for i in range(self.now.size()):
                if self.machine.sets.size() > most:
                    return 0            # what was found so far holds
                if self.now[i].mode == 0:
                    self._strike(self.now[i].set, usual, &left)
            for i in range(self.now.size()):
                if self.machine.sets.size() > most:
                    return 0
                if self.now[i].mode == 0:
                    self._strike(self.now[i].set, usual, &left)
                    for k in range(self.targets.size()):
                        self._meet(self.targets[k], 0)
                if at.characters > length and not self._follow_characters(self.now[i], usual):
                    at.characters = length
            length += 1
            at.layers.push_back(left)
        return 0

    cdef int _strike(self, SetRec* source, Bytes usual, Bytes* left) except -1 nogil:
        """Strike off `left` the bytes that lead to where little may follow; `targets` gets the sets of the others."""
        cdef SetRec* target
        cdef Bytes todo = left[0]
        cdef uint64_t alike
        cdef int32_t byte, w
        self.targets.clear()
        for w in range(2):
            while todo.word[w]:
                byte = 64 * w + lowest(todo.word[w])
                target = step(self.machine, source, <uint8_t>byte)
                alike = _from_to(byte, last_alike(source, <uint8_t>byte), w)
                todo.word[w] &= ~alike
                if _is_narrow(target, usual):
                    left.word[w] &= ~alike
                elif self.targets.empty() or self.targets.back() != target:
                    self.targets.push_back(target)
        return 0

    cdef bint _follow_characters(self, Place at, Bytes usual) except -1 nogil:
        """Meet all sets that a plain character beyond ASCII goes on to; False if one of them is dead or narrow."""
        cdef int32_t byte = 0x80, high
        cdef int mode
        cdef SetRec* target
        cdef SetRec* before = NULL
        while byte < 0x100:
            mode = plain_next(at.mode, byte)
            if mode < 0:
                byte += 1
                continue
            target = step(self.machine, at.set, <uint8_t>byte)
            if target == self.machine.dead or target == self.machine.unlowered:
                return False
            if mode == 0 and target != before and _is_narrow(target, usual):
                return False
            before = target
            self._meet(target, mode)
            high = last_alike(at.set, <uint8_t>byte)
            byte += 1
            while byte <= high and plain_next(at.mode, byte) == mode:
                byte += 1
        return True

    cdef void _meet(self, SetRec* set, int mode) noexcept nogil:
        cdef size_t name = <size_t>set << 4 | <size_t>mode
        if not self.seen.count(name):
            self.seen[name] = 1
            self.after.push_back(Place(set, mode))


cdef uint64_t _from_to(int32_t low, int32_t high, int32_t w) noexcept nogil:
    """The bytes from `low`, which is in word `w` of a set of bytes, to `high` that are in that word."""
    return <uint64_t>-1 << (low & 63) & <uint64_t>-1 >> (63 - min(high - 64 * w, 63))


cdef bint _is_narrow(SetRec* set, Bytes usual) noexcept nogil:
    """Whether less than half of the `usual` bytes are live: what leads here is better walked."""
    return (2 * (ones(set.live[0] & usual.word[0]) + ones(set.live[1] & usual.word[1]))
            < ones(usual.word[0]) + ones(usual.word[1]))
