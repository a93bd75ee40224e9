from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.masks.graphs cimport Graph
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport KINDS, Below, TokenTrie


cdef enum:
    DEAD = -1
    SEVERAL = -2        # bytes of one kind lead to several states


cdef cppclass View:
    # The vocabulary as seen from one state of an interior.
    shared_ptr[TokenSet] tokens      # those that stay inside
    # The ways out: a trie of the texts before and with the byte that leads out, in preorder; all of them are read inside.
    vector[uint8_t] byte
    vector[int32_t] depth
    vector[int32_t] door             # -1, or for the byte that leads out: which of `doors`
    vector[int32_t] doors            # nodes of the vocabulary's trie
    vector[int16_t] door_state       # the interior's state before that byte
    unordered_map[string, shared_ptr[TokenSet]] known    # by what decides on a state's verdicts: see `_name`


cdef cppclass Ways:
    # What a state certainly takes, in any order and for any length: these ASCII bytes, and plain characters beyond.
    bint known
    uint64_t ascii[2]
    bint characters


cdef cppclass Interior:
    Graph graph                      # minimal
    int32_t count
    vector[int16_t] next_state       # by state and byte: a state, or DEAD
    vector[int16_t] next_alike       # by state and kind of bytes: the same, or SEVERAL
    vector[uint64_t] ascii           # two words a state: bytes that are not DEAD
    vector[Ways] ways                # by state
    int64_t steps_left               # that may be taken to find `ways`
    vector[shared_ptr[View]] views   # by state


cdef void tabulate(Interior* made) noexcept nogil
cdef shared_ptr[View] make_view(TokenTrie trie, Interior* inside, int16_t state, int64_t* nodes) noexcept nogil
