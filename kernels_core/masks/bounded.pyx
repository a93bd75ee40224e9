# distutils: language = c++
"""Verdicts inside strings with a bounded length.

Far from the bounds, which is where most texts are, no token comes near to one: verdicts are those of a state that counts
nothing, which other grammars share.  Near a bound they are put together from what all such strings have in common, the
characters that tokens begin and complete (`interiors.pyx`, as lap sets), and from the tokens after which the text could
not be finished in time (`overlong.pyx`).

Read on: `automata/lengths.pxd`; `cache.pyx`, which asks.
"""

from libc.stdint cimport uint32_t
from libcpp.algorithm cimport binary_search, inplace_merge

from kernels_core.earley.machine cimport FREE
from kernels_core.masks.graphs cimport Graph
from kernels_core.masks.laps cimport row_of
from kernels_core.masks.overlong cimport find_overlong, reserve_of, split_by_need


cdef extern from *:
    int __builtin_ctz(unsigned int) nogil


cdef int32_t MANY = 8192        # tokens that the trie is rather walked for


cdef class Bounded:
    """Those of one machine, which `insides` are found for.  With the machine's lock held."""

    def __init__(self, Insides insides):
        self.trie, self.machine, self.insides = insides.trie, insides.machine, insides

    cdef bint find(self, int32_t state, const Room& room, uint64_t narrowed, const uint64_t* goes_on,
                   shared_ptr[TokenSet]& result) except -1 nogil:
        """The lap set at `state`, whose laps are characters; False where there is none.

        `goes_on`: four words, the bytes that callers take, known by `narrowed`; any byte where that is 0.
        """
        # Where texts end of themselves, one may be unable to become long enough.
        if room.missing > 0 and not room.endless:
            return False
        if self.insides.refuses(state):
            return False            # what is known from before, too: `accept` has to draw the state again
        if self.known[narrowed].count(state):
            result = self.known[narrowed][state]
            return True
        if not self.insides.token_set(state, True, narrowed, goes_on if narrowed else <const uint64_t*>NULL, result):
            return False
        self.known[narrowed][state] = result
        return True

    cdef int accept(self, int32_t state, const Room& room, TokenSet* tokens, vector[Dense]& dense,
                    vector[int32_t]& ids) except -1 nogil:
        """`dense` and `ids` get the tokens of a lap set that stay inside.

        What `dense` points to is there until the next mask begins.
        """
        cdef Dense row = row_of(tokens, room.left)
        cdef int32_t most = <int32_t>(tokens if tokens.base.get() == NULL else tokens.base.get()).caps.size() - 1
        cdef int32_t reserve = self._reserve(state)
        cdef shared_ptr[vector[int32_t]] found
        cdef Graph graph
        cdef size_t count
        if reserve > 0 and most + reserve > room.left:
            found.reset(new vector[int32_t]())
            self.insides.drawn(state, True, graph)
            if room.left >= reserve and row.row.population - row_of(tokens, room.left - reserve).row.population <= MANY:
                self.candidates.clear()
                _list_between(row_of(tokens, room.left - reserve), row, self.trie.words, self.candidates)
                find_overlong(self.trie, self.machine.tables, graph, room.left, self.candidates, found.get()[0])
            elif split_by_need(self.trie, self.machine.tables, graph, room.left, row, found.get()[0]):
                ids.insert(ids.end(), found.get().begin(), found.get().end())
                return 0
            if not found.get().empty():
                count = found.get().size()
                found.get().insert(found.get().end(), row.lacking.begin(), row.lacking.end())
                inplace_merge(found.get().begin(), found.get().begin() + count, found.get().end())
                self.lists.push_back(found)
                row.lacking = found.get()
        dense.push_back(row)
        return 0

    cdef int32_t _reserve(self, int32_t state) except -1 nogil:
        """The most characters that have to follow anywhere behind `state`, one under way left out."""
        cdef Graph graph
        cdef vector[int32_t] reserve
        if not self.reserves.count(state):
            self.insides.drawn(state, True, graph)
            self.reserves[state] = reserve_of(self.machine.tables, graph, reserve)
        return self.reserves[state]


cdef bint is_near_bound(Tables tables, int32_t longest, Item* item, Room* room) noexcept nogil:
    """Whether a bound of its text's length matters to the verdicts at `item`; `room` says how much is left then.

    Where a text's characters are counted and no token, of `longest` bytes at most, comes near to a bound, `item` counts
    none from now on.
    """
    if not tables.bounded or not tables.room(item.state, item.counter, room):
        return False
    # A token completes no more characters than it has bytes, and begins one.
    if room.missing <= 0 and room.left - room.reserve > longest:
        item.counter = FREE
        return False
    return True


cdef void _list_between(Dense few, Dense more, int32_t words, vector[int32_t]& found) noexcept nogil:
    """The tokens of `more` that `few`, a part of it, has not, ascending."""
    cdef int32_t w, token
    cdef uint32_t word
    cdef size_t i
    if few.row.words == more.row.words:
        for i in range(few.lacking.size()):
            token = few.lacking[0][i]
            if not binary_search(more.lacking.begin(), more.lacking.end(), token):
                found.push_back(token)
        return
    for w in range(words):
        word = more.row.words[w] & ~few.row.words[w]
        while word:
            token = 32 * w + __builtin_ctz(word)
            word &= word - 1
            if not binary_search(more.lacking.begin(), more.lacking.end(), token):
                found.push_back(token)
