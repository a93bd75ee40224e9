from kernels_core.grammar.regular.language cimport Language

cdef Language concat_of(tuple items)
cdef Language union_of(tuple items)
cdef Language loop_of(Language item, least, most)
