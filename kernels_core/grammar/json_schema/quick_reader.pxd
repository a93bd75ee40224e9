from kernels_core.grammar.json_schema.deferrable_schemas cimport DeferrableSchemas
from kernels_core.grammar.json_schema.quick_writer cimport Frame, QuickWriter
from kernels_core.grammar.rules cimport DeferredRule
from kernels_core.grammar.tree cimport Node, RuleRef


cdef class Words:
    cdef int types                      # a bit for each
    cdef bint says_something
    cdef object options, constants      # lists, or None
    cdef dict members, listed, spelt, bounded    # the keywords of one type and their values; None where there are none


cdef class QuickReader:
    cdef readonly DeferrableSchemas judge
    cdef readonly QuickWriter writer
    cdef readonly object document
    cdef bint old_integers
    cdef str order              # `steps.Order`
    cdef dict words             # the keywords that say something here
    cdef dict known             # id of a schema and level -> its node; the document keeps the schemas alive
    cdef dict rules             # (level, text of a schema) -> the call of its rule

    cpdef Node value(self, schema, int level, str hint)
    cdef Node _scalar(self, int kind)
    cdef Node _value(self, dict schema, int level, str hint)
    cdef Words _read(self, dict schema)
    cdef list _nodes(self, Words words, int level, str hint)
    cdef bint _unites(self, list options) except -1
    cdef Node _constant_nodes(self, Words words, int level, str hint)
    cdef RuleRef rule(self, schema, int level, str hint, int kind=*, bint begun=*)
    cdef Node body(self, QuickRule rule)
    cdef Node _tagged(self, list options, QuickRule rule)
    cdef tuple _tag(self, Words words)
    cdef Words _said(self, QuickRule rule)
    cdef Node _anything(self, int level)
    cdef Node _fields(self, Words words, int level, str name, bint begun)
    cdef Node _any_fields(self, Frame frame, RuleRef key, RuleRef value)
    cdef Node _array(self, Words words, int level, str name)
    cdef Node _string(self, Words words, str name)
    cdef Node _number(self, Words words)
    cdef object _numbers(self, int types)
    cdef Node _constants(self, Words words)


cdef class QuickRule(DeferredRule):
    cdef readonly QuickReader reader
    cdef readonly object schema
    cdef str text               # of the schema
    cdef readonly int level
    cdef int kind               # the one type that is all `schema` speaks of; 0: not known
    cdef readonly bint begun    # it is of objects, from behind their first member
