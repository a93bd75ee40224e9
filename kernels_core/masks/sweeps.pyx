# distutils: language = c++
"""Whole subtrees of the vocabulary that a parser state takes, known without walking them.

Inside a string, an identifier or a comment nearly every token is accepted, and a walk would visit all of them to find
that out.  The trie knows of each subtree which bytes occur in it (`trie.Below`), and here it is found out once for a
set which bytes may follow, in any order, for so many bytes: the sets that they lead to are explored layer by layer, and
a byte that is dead somewhere, or leads to where little may follow (the quote that ends a string), is struck off.  Most
often the exploration closes soon: a string leads back to itself, the search for a word inside it to a few sets.  If a
subtree is no deeper than that and has no other bytes, all tokens in it are accepted.  What is left to walk are the
subtrees with a quote, a line break, a broken character in them: a few per cent of the vocabulary.

Read on: `token_sets.pyx`, which walks.
"""

from kernels_core.earley.machine cimport step
from kernels_core.masks.trie cimport Below, utf8_next

cdef extern from *:
    int __builtin_popcountll(unsigned long long) nogil


cdef int32_t LENGTHS = 1 << 30      # more bytes than any token has
cdef size_t MOST = 512              # sets explored from one
cdef size_t MOST_NEW = 64           # parser states made for that
cdef int ENOUGH = 4                 # explorations that led too far: this machine has too many states to look around in
cdef Bytes NO_BYTES


cdef class Sweeps:
    """What is known of the sets of one machine.  With the machine's lock held; sets live as long as the machine."""

    def __init__(self, Machine machine):
        self.machine = machine
        self.latest = NULL

    cdef bint takes_all(self, TokenTrie trie, SetRec* source, int32_t node) except -1 nogil:
        """Whether `source` certainly takes every path from the parent of `node` through `node` and below it.

        `source` is the set at the parent, and `node` has a place in `trie.below`.  False says nothing.
        """
        cdef const Below* below = &trie.below[trie.nodes[node].below]
        cdef int32_t length = trie.nodes[node].height + 1
        cdef Region* region
        cdef size_t layer = length
        if source != self.latest:
            region = &self.regions[<size_t>source]
            if region.layers.empty():
                if self.given_up < ENOUGH:
                    self._explore(source, region, trie.max_depth)
                    self.given_up += not region.closed and <int32_t>region.layers.size() <= trie.max_depth
                else:
                    region.layers.push_back(NO_BYTES)
            self.latest, self.latest_region = source, region
        region = self.latest_region
        if layer >= region.layers.size():
            if not region.closed:
                return False
            layer = region.layers.size() - 1
        if below.ascii[0] & ~region.layers[layer].word[0] or below.ascii[1] & ~region.layers[layer].word[1]:
            return False
        return not below.beyond_ascii or (below.characters and length <= region.characters)

    cdef int _explore(self, SetRec* source, Region* region, int32_t longest) except -1 nogil:
        """Fill `region`: the sets met first after n bytes are looked at together."""
        cdef Bytes usual, left               # narrow is where half of the usual bytes are dead
        cdef int32_t byte, length = 0
        cdef size_t i, most = self.machine.sets.size() + MOST_NEW
        cdef SetRec* target
        usual.word[0], usual.word[1] = source.live[0], source.live[1]
        left = usual
        self.seen.clear()
        self.after.clear()
        self._meet(source, 0)
        region.characters = LENGTHS
        region.layers.push_back(left)
        while length < longest and self.seen.size() < MOST:
            self.now.swap(self.after)
            self.after.clear()
            if self.now.empty() or (region.characters < length and not (left.word[0] | left.word[1])):
                region.closed = True
                break
            for i in range(self.now.size()):
                if self.machine.sets.size() > most:
                    return 0            # what was found so far holds
                if self.now[i].mode != 0:
                    continue
                for byte in range(128):
                    if left.word[byte >> 6] >> (byte & 63) & 1:
                        target = step(self.machine, self.now[i].set, byte)
                        if _is_narrow(target, usual):
                            left.word[byte >> 6] &= ~(<uint64_t>1 << (byte & 63))
            for i in range(self.now.size()):
                if self.machine.sets.size() > most:
                    return 0
                if self.now[i].mode == 0:
                    for byte in range(128):
                        if left.word[byte >> 6] >> (byte & 63) & 1:
                            self._meet(step(self.machine, self.now[i].set, byte), 0)
                if region.characters > length and not self._follow_characters(self.now[i], usual):
                    region.characters = length
            length += 1
            region.layers.push_back(left)
        return 0

    cdef bint _follow_characters(self, Place at, Bytes usual) except -1 nogil:
        """Meet all sets that the next byte of a character beyond ASCII leads to; False if one is dead or narrow."""
        cdef int32_t byte
        cdef int mode
        cdef SetRec* target
        cdef SetRec* before = NULL
        for byte in range(0x80, 0x100):
            mode = utf8_next(at.mode, byte)
            if mode < 0:
                continue
            target = step(self.machine, at.set, byte)
            if target == self.machine.dead or (mode == 0 and target != before and _is_narrow(target, usual)):
                return False
            before = target
            self._meet(target, mode)
        return True

    cdef void _meet(self, SetRec* set, int mode) noexcept nogil:
        cdef size_t name = <size_t>set + mode        # sets are 8-byte aligned and there are 8 modes
        if not self.seen.count(name):
            self.seen[name] = 1
            self.after.push_back(Place(set, mode))


cdef bint _is_narrow(SetRec* set, Bytes usual) noexcept nogil:
    """Whether less than half of the `usual` bytes are live: what leads here is better walked."""
    return (2 * (__builtin_popcountll(set.live[0] & usual.word[0]) + __builtin_popcountll(set.live[1] & usual.word[1]))
            < __builtin_popcountll(usual.word[0]) + __builtin_popcountll(usual.word[1]))
