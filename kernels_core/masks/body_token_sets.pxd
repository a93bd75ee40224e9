from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.masks.body_automata cimport BodyAutomaton
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport BYTE_CLASSES, Below, TokenTrie


cdef cppclass BodyTokenSet:
    # The vocabulary as seen from one state of a string body.
    shared_ptr[TokenSet] tokens      # those that stay inside
    # The ways out: a trie of the texts before and with the byte that leads out, in preorder; all of them are read
    # inside.
    vector[uint8_t] byte
    vector[int32_t] depth
    vector[int32_t] exit_edge             # -1, or for the byte that leads out: which of `exit_edges`
    vector[int32_t] exit_edges            # nodes of the vocabulary's trie
    vector[int16_t] exit_state       # the string body's state before that byte
    unordered_map[string, shared_ptr[TokenSet]] known    # by what decides on a state's verdicts: see `_name`


cdef cppclass SafeBytes:
    # What a state certainly takes, in any order and for any length: these ASCII bytes, and plain characters beyond.
    bint known
    uint64_t ascii[2]
    bint characters


cdef cppclass StringBody:
    BodyAutomaton graph                      # minimal
    int32_t count
    vector[int16_t] next_state       # by state and byte: a state, or DEAD
    vector[int16_t] next_by_class       # by state and byte class: the same, or SEVERAL
    vector[uint64_t] ascii           # two words a state: bytes that are not DEAD
    vector[SafeBytes] safe                # by state
    int64_t steps_left               # that may be taken to find `safe`
    vector[shared_ptr[BodyTokenSet]] body_sets   # by state


cdef void tabulate(StringBody* made) noexcept nogil
cdef shared_ptr[BodyTokenSet] make_body_token_set(TokenTrie trie, StringBody* body, int16_t state,
                                                  int64_t* nodes) noexcept nogil
