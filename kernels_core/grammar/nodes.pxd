from kernels_core.grammar.tree cimport Node


cpdef Node literal(bytes value, span=*)
cpdef Node seq(items, span=*)
cpdef Node choice(items, span=*)
cpdef Node repeat(Node item, minimum, maximum, span=*)
