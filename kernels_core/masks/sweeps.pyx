# distutils: language = c++
"""Whole subtrees of the vocabulary that a parser state takes, known without walking them.

Inside a string, an identifier or a comment nearly every byte leads back to the same set, so nearly every token is
accepted, and a walk would visit all of them to find that out.  The trie knows of each large subtree which bytes occur in
it (`trie.Below`).  If a set takes all of those and stays where it is, or goes on along sets that do, as many as the
subtree is deep (the letters of `[a-z]{20}` spelt out), every token in the subtree is accepted.  What is left to walk are
the subtrees with a quote, a line break, a broken character in them: a few per cent of the vocabulary.

Read on: `token_sets.pyx`, which walks.
"""

from kernels_core.earley.machine cimport is_live, step
from kernels_core.masks.trie cimport Below, utf8_next

cdef int32_t FIRST_LEAD = 0xC2, LAST_LEAD = 0xF4


cdef class Sweeps:
    """What is known of the sets of one machine.  With the machine's lock held; sets live as long as the machine."""

    def __init__(self, Machine machine):
        self.machine = machine

    cdef bint takes_all(self, TokenTrie trie, SetRec* source, int32_t node) except -1 nogil:
        """Whether `source` certainly takes every path from the parent of `node` through `node` and below it.

        `source` is the set at the parent.  False says nothing.
        """
        cdef const Below* below = &trie.below[trie.nodes[node].below]
        cdef int32_t left = trie.nodes[node].height + 1
        cdef Loop* loop
        while left > 0:
            loop = self._loop(source)
            if below.ascii[0] & ~loop.bytes[0] or below.ascii[1] & ~loop.bytes[1]:
                return False
            if loop.target == self.machine.dead:
                return False
            if loop.target == source:
                return not below.beyond_ascii or (below.characters and self._takes_characters(source))
            if below.beyond_ascii:
                return False
            source = loop.target
            left -= 1
        return True

    cdef Loop* _loop(self, SetRec* source) except NULL nogil:
        cdef Loop* loop = &self.loops[<size_t>source]
        cdef SetRec* target
        cdef int32_t byte, votes = 0
        if loop.target != NULL:
            return loop
        for byte in range(128):                  # Boyer and Moore's majority vote
            if not is_live(source, byte):
                continue
            target = step(self.machine, source, byte)
            if votes == 0:
                loop.target = target
            votes += 1 if target == loop.target else -1
        if loop.target == NULL:
            loop.target = self.machine.dead
        for byte in range(128):
            if is_live(source, byte) and step(self.machine, source, byte) == loop.target:
                loop.bytes[byte >> 6] |= <uint64_t>1 << (byte & 63)
        return loop

    cdef bint _takes_characters(self, SetRec* source) except -1 nogil:
        """Whether every character beyond ASCII, in UTF-8, leads from `source` back to it."""
        cdef Loop* loop = self._loop(source)
        cdef int32_t lead
        cdef SetRec* inside
        cdef SetRec* before = NULL
        cdef int mode
        if loop.characters == 0:
            loop.characters = 1
            for lead in range(FIRST_LEAD, LAST_LEAD + 1):
                inside = step(self.machine, source, lead)
                mode = utf8_next(0, lead)
                if inside == before and mode == utf8_next(0, lead - 1):
                    continue
                before = inside
                if inside == self.machine.dead or not _returns(self.machine, source, inside, mode):
                    loop.characters = 2
                    break
        return loop.characters == 1


cdef bint _returns(Machine machine, SetRec* source, SetRec* inside, int mode) except -1 nogil:
    """Whether every end of a character that is under way in `inside` leads to `source`; `mode` as in `trie`."""
    cdef int32_t byte
    cdef int after
    cdef SetRec* target
    cdef SetRec* before = NULL
    for byte in range(0x80, 0xC0):
        after = utf8_next(mode, byte)
        if after < 0:
            continue
        target = step(machine, inside, byte)
        if target == before:
            continue
        before = target
        if after == 0:
            if target != source:
                return False
        elif target == machine.dead or not _returns(machine, source, target, after):
            return False
    return True
