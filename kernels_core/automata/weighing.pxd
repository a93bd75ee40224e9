cdef int cost_of(node, lowering, int limit, int depth) except -2
