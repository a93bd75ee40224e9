# distutils: language = c++
"""A tree of draft tokens as callers describe it, and the rows of a bitmask that its masks go to.

All of it is checked before anything is done, and rows are written when all masks are known, so an error of any kind
changes nothing.  Read on: `matcher.pyx` (`GrammarMatcher.traverse_draft_tree`), which finds the masks.
"""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

cimport cython

from kernels_core.masks.mask_table cimport write_mask
from kernels_core.masks.rows cimport BitmaskRows, open_rows, row_at


@cython.final
cdef class DraftTree:
    """DraftTree(first_children, siblings, tokens)

    Arrays of one length, by node; `ValueError` for what is no tree.  Nodes that the root does not lead to are left
    alone.
    """

    def __cinit__(self, first_children, siblings, tokens):
        _read(first_children, "first child", self.first)
        _read(siblings, "next sibling", self.sibling)
        _read(tokens, "token", self.tokens)
        if self.first.size() != self.tokens.size() or self.sibling.size() != self.tokens.size() or self.tokens.empty():
            raise ValueError(
                f"the draft tree's three arrays must have one length, at least 1: there are {self.first.size()} "
                f"first children, {self.sibling.size()} next siblings, {self.tokens.size()} tokens")
        if self.sibling[0] != -1:
            raise ValueError(f"the root of a draft tree has no sibling, and its next sibling is {self.sibling[0]}")
        self._put_in_order()

    cdef int _put_in_order(self) except -1:
        cdef int32_t node
        cdef int64_t other, count = <int64_t>self.first.size()
        cdef vector[int32_t] pending
        cdef bint below
        self.parents.assign(count, -1)
        pending.push_back(0)
        while pending.size():
            node = pending.back()
            pending.pop_back()
            self.order.push_back(node)
            for below in range(2):
                other = self.first[node] if below else self.sibling[node]
                if other == -1:
                    continue
                if not 0 < other < count or self.parents[other] >= 0:
                    name = "first child" if below else "next sibling"
                    what = "which is reached twice" if 0 <= other < count else f"out of range: there are {count} nodes"
                    raise ValueError(f"the {name} of node {node} of the draft tree is {other}, {what}")
                self.parents[other] = node if below else self.parents[node]
                pending.push_back(<int32_t>other)
        return 0

    cdef int take_rows(self, bitmask, int32_t words) except -1:
        """Take the rows of `bitmask`, by node; `ValueError` if one is missing or has less than `words` words."""
        cdef BitmaskRows rows
        cdef size_t i
        self.bitmask = open_rows(bitmask, &rows)
        self.row_words = rows.words
        for i in range(self.order.size()):
            self.rows.push_back(row_at(&rows, self.order[i], words))
        self.masks.reserve(self.order.size())
        return 0

    cdef int write(self, int32_t words) noexcept nogil:
        """Write the masks that are known; whether all are."""
        cdef size_t i
        for i in range(self.masks.size()):
            if self.masks[i] == NULL:
                memset(self.rows[i], 0, self.row_words * sizeof(uint32_t))
                continue
            write_mask(self.masks[i], self.rows[i], words)
            memset(self.rows[i] + words, 0, (self.row_words - words) * sizeof(uint32_t))
        return self.masks.size() == self.order.size()


cdef int _read(values, str name, vector[int64_t]& into) except -1:
    """The numbers of one array, by node; `ValueError` for what is none."""
    cdef int64_t number
    cdef list listed = list(values.tolist() if hasattr(values, "tolist") else values)
    into.reserve(len(listed))
    for value in listed:
        try:
            number = PyNumber_Index(value)
        except (TypeError, OverflowError) as error:
            raise ValueError(f"the {name} of node {into.size()} of the draft tree is {value!r}: {error}") from error
        into.push_back(number)
    return 0
