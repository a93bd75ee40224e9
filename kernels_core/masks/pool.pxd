from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map

from kernels_core.automata.identity cimport Identity
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.row_unions cimport RowUnions


cdef enum:
    # in a key, in place of the iterations to a bound: verdicts for all counts, see `iterations`
    ALL_COUNTS = -3


cdef struct PoolKey:
    Identity state
    Identity lookahead      # what may follow the state's rule (`lookahead.Lookahead.identity`); 0: not looked at
    int32_t to_minimum      # iterations that are still missing, clipped
    int32_t to_maximum      # iterations that are still allowed, clipped


cdef cppclass PoolEntry:
    shared_ptr[TokenSet] tokens
    uint64_t used           # the pool's clock when the entry was last asked for
    size_t nbytes


cdef class TokenSetPool:
    cdef readonly TokenTrie trie
    cdef readonly RowUnions unions
    cdef readonly size_t max_bytes
    cdef readonly str fingerprint
    cdef readonly bytes key
    cdef bint key_in_use
    cdef mutex lock
    cdef unordered_map[string, PoolEntry] entries
    cdef uint64_t clock
    cdef readonly size_t nbytes                 # held by the entries
    cdef readonly int64_t hits, misses          # hits: perfect ones, found as it was wanted
    cdef readonly int64_t partial_hits          # found for the state, but not yet filtered for the lookahead
    cdef readonly int64_t evictions

    cdef bytes secret(self)
    cdef bint _add(self, const PoolKey& key, const shared_ptr[TokenSet]& tokens) noexcept nogil
    cdef shared_ptr[TokenSet] find(self, const PoolKey& key, bint partial, bint last=*) noexcept nogil
    cdef void keep(self, const PoolKey& key, const shared_ptr[TokenSet]& tokens) noexcept nogil
    cdef void _evict(self) noexcept nogil
