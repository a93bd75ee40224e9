from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie


cdef struct Reader:
    const char* at
    const char* end


cdef cppclass FileEntry:
    string key                  # a PoolKey as it lies in memory
    shared_ptr[TokenSet] tokens


cdef void pack(vector[FileEntry]& entries, string& body) noexcept nogil
cdef bint unpack(const char* body, size_t size, size_t key_size, TokenTrie trie,
                 vector[FileEntry]& entries) noexcept nogil
