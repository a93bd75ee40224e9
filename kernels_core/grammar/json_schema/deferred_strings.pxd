from kernels_core.grammar.rules cimport DeferredRule


cdef class OtherKeys(DeferredRule):
    cdef object speller
    cdef frozenset excluded
