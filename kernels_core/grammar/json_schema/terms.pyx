"""Terms: sets of JSON values that have not been looked into.

A term is a schema at its place, or a Boolean combination of terms, or a shape that is already known.  Terms are made
by `SchemaAlgebra` (`schema_algebra.py`), which keeps equal ones identical, so they compare and hash by identity.  A
recursive schema is a term that its own shape mentions; the term itself holds only what was there before it, so cyclic
garbage collection need not look at terms.
"""

cimport cython


@cython.no_gc
cdef class Term:
    """A set of JSON values."""


@cython.final
@cython.no_gc
cdef class Constant(Term):
    """Everything or nothing."""

    cdef readonly bint value

    def __init__(self, bint value):
        self.value = value

    def __repr__(self):
        return "TRUE" if self.value else "FALSE"


TRUE = Constant(True)
FALSE = Constant(False)


@cython.final
@cython.no_gc
cdef class Place(Term):
    """What a schema (an object with at least one keyword that constrains) says.  `pointer` is where it was met,
    `text` the schema as JSON if that is known."""

    cdef readonly object schema, context
    cdef readonly str pointer, name, text

    def __init__(self, schema, context, str pointer not None, str name not None, str text not None=""):
        self.schema, self.context, self.pointer, self.name, self.text = schema, context, pointer, name, text

    def __repr__(self):
        return f"<{self.pointer}>"


@cython.final
@cython.no_gc
cdef class AllOf(Term):
    """In every part, in an order that decides that of names.  `first`: the one of the same parts that was made first,
    None if that is this one."""

    cdef readonly tuple parts
    cdef readonly AllOf first

    def __init__(self, tuple parts not None, AllOf first=None):
        self.parts, self.first = parts, first

    def __repr__(self):
        return f"({' & '.join(map(repr, self.parts))})"


@cython.final
@cython.no_gc
cdef class AnyOf(Term):
    """In some part."""

    cdef readonly tuple parts

    def __init__(self, tuple parts not None):
        self.parts = parts

    def __repr__(self):
        return f"({' | '.join(map(repr, self.parts))})"


@cython.final
@cython.no_gc
cdef class Complement(Term):
    """Not in `part`, which is a `Place` or an `Exactly`."""

    cdef readonly Term part

    def __init__(self, Term part not None):
        self.part = part

    def __repr__(self):
        return f"~{self.part!r}"


@cython.final
@cython.no_gc
cdef class Exactly(Term):
    """A shape that is already known."""

    cdef readonly object shape

    def __init__(self, shape):
        self.shape = shape

    def __repr__(self):
        return "{...}"


def in_any_order(Term term not None):
    """What stands for all terms that say the same as `term` but for the order of their parts."""
    if type(term) is AllOf and (<AllOf>term).first is not None:
        return (<AllOf>term).first
    return term


def narrows(Term small not None, Term large not None):
    """Certainly a subset, as far as can be told without looking into them."""
    if large is TRUE or small is FALSE or in_any_order(small) is in_any_order(large):
        return True
    return type(small) is AllOf and large in (<AllOf>small).parts


def origin(Term term not None):
    """The first schema that a term speaks of (a `Place`), for names and messages; None if there is none."""
    cdef list stack = [term]
    while stack:
        top = stack.pop()
        if type(top) is Place:
            return top
        if type(top) is AllOf:
            stack.extend(reversed((<AllOf>top).parts))
        elif type(top) is AnyOf:
            stack.extend(reversed((<AnyOf>top).parts))
        elif type(top) is Complement:
            stack.append((<Complement>top).part)
    return None
