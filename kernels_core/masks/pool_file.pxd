from libc.stdint cimport int32_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie


cdef struct Reader:
    const int32_t* at
    const int32_t* end


cdef cppclass FileEntry:
    string key                  # a PoolKey as it lies in memory
    shared_ptr[TokenSet] tokens


cdef int write_file(path, str fingerprint, bytes key, vector[FileEntry]& entries) except -1
cdef bytes read_file(path, str fingerprint, size_t key_size, TokenTrie trie, vector[FileEntry]& entries)
