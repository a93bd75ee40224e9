"""Normal forms of schemas: a `Shape` is a union over the six JSON types, and closed under all Boolean operations.

- null, Booleans: in or out.  Numbers: `numbers.Numbers`.  Strings: `languages.Language`, over decoded characters.
- Objects: a union of `Members`.  One `Members` is a conjunction: *for-all* rules (keys in K have values in T), names
  that are required, *needs* (some member lies in one of these K x T), and bounds on the number of members.
- Arrays: a union of `Items`: the same with positions in place of keys, needs that are counted (`Count`), and
  `unique`.

What members and items hold are terms (`terms.pyx`): sets of values that are looked into when they are needed and not
before, so recursion is no problem here.  The complement of a for-all is a need and the other way round: that is why
`not`, `oneOf` and `if` need nothing special.

Shapes are immutable, compare by content, and are asked for their hash again and again, so they keep it; what they hold
was there before them, so cyclic garbage collection need not look at them.  `replace` makes a copy with other fields.

Read on: `schema_algebra.py` (operations on shapes), `reading.py` (schemas to shapes), `emit.py` (shapes to grammar).
"""

cimport cython

from cpython.object cimport Py_EQ, Py_NE

from kernels_core.grammar.json_schema.numbers import ALL_NUMBERS, NO_NUMBERS
from kernels_core.grammar.json_schema.terms import TRUE
from kernels_core.grammar.regular.languages import ALL, NOTHING


@cython.no_gc
cdef class _Content:
    """What compares by the values of its fields."""

    cdef Py_hash_t mixed

    cdef tuple content(self):
        """What is compared."""
        raise NotImplementedError

    cdef object changed(self, dict changes):
        """A copy with other values for the fields in `changes`, which are taken out."""
        raise NotImplementedError

    def __richcmp__(self, other, int operation):
        cdef bint same
        if operation != Py_EQ and operation != Py_NE or type(self) is not type(other):
            return NotImplemented
        if self is other:
            same = True
        elif self.mixed != (<_Content>other).mixed:
            same = False
        else:
            same = self.content() == (<_Content>other).content()
        return same == (operation == Py_EQ)

    def __hash__(self):
        return self.mixed

    def __repr__(self):
        return f"{type(self).__name__}{self.content()!r}"


@cython.final
@cython.no_gc
cdef class Members(_Content):
    """Objects whose members follow all `rules`, have all `required` names, meet all `needs` (each a union of
    rectangles, one of which must hold a member), and number `least` to `most`."""

    cdef readonly tuple rules, required, needs
    cdef readonly object least, most

    def __init__(
        self, tuple rules not None=(), tuple required not None=(), tuple needs not None=(), least=0, most=None
    ):
        self.rules, self.required, self.needs, self.least, self.most = rules, required, needs, least, most
        self.mixed = hash((rules, required, needs, least, most))

    cdef tuple content(self):
        return self.rules, self.required, self.needs, self.least, self.most

    cdef object changed(self, dict changes):
        return Members(
            changes.pop("rules", self.rules),
            changes.pop("required", self.required),
            changes.pop("needs", self.needs),
            changes.pop("least", self.least),
            changes.pop("most", self.most),
        )


@cython.final
@cython.no_gc
cdef class Count(_Content):
    """The number of items that lie in one of `cells` is within `least..most`."""

    cdef readonly tuple cells
    cdef readonly object least, most

    def __init__(self, tuple cells not None, least, most):
        self.cells, self.least, self.most = cells, least, most
        self.mixed = hash((cells, least, most))

    cdef tuple content(self):
        return self.cells, self.least, self.most

    cdef object changed(self, dict changes):
        return Count(
            changes.pop("cells", self.cells), changes.pop("least", self.least), changes.pop("most", self.most)
        )


@cython.final
@cython.no_gc
cdef class Items(_Content):
    """Arrays: `prefix` by position, then `rest`; `counts`; length within `least..most`; `unique` True: no two items
    are equal, False: some are, None: either.  `place`: the schema that says so, for messages; it is not compared."""

    cdef readonly tuple prefix, counts
    cdef readonly object rest, least, most, unique
    cdef readonly str place

    def __init__(
        self,
        tuple prefix not None=(),
        rest=TRUE,
        tuple counts not None=(),
        least=0,
        most=None,
        unique=None,
        str place not None="#",
    ):
        self.prefix, self.rest, self.counts, self.least, self.most = prefix, rest, counts, least, most
        self.unique, self.place = unique, place
        self.mixed = hash((prefix, rest, counts, least, most, unique))

    cdef tuple content(self):
        return self.prefix, self.rest, self.counts, self.least, self.most, self.unique

    cdef object changed(self, dict changes):
        return Items(
            changes.pop("prefix", self.prefix),
            changes.pop("rest", self.rest),
            changes.pop("counts", self.counts),
            changes.pop("least", self.least),
            changes.pop("most", self.most),
            changes.pop("unique", self.unique),
            changes.pop("place", self.place),
        )

    def at(self, Py_ssize_t position):
        """What may stand at `position`."""
        return self.prefix[position] if position < len(self.prefix) else self.rest


@cython.final
@cython.no_gc
cdef class Shape(_Content):
    """A set of JSON values by type."""

    cdef readonly bint null
    cdef readonly frozenset booleans
    cdef readonly object numbers, strings
    cdef readonly tuple arrays, objects

    def __init__(
        self,
        bint null,
        frozenset booleans not None,
        numbers,
        strings,
        tuple arrays not None,
        tuple objects not None,
    ):
        self.null, self.booleans, self.numbers, self.strings = null, booleans, numbers, strings
        self.arrays, self.objects = arrays, objects
        self.mixed = hash((null, booleans, numbers, strings, arrays, objects))

    cdef tuple content(self):
        return self.null, self.booleans, self.numbers, self.strings, self.arrays, self.objects

    cdef object changed(self, dict changes):
        return Shape(
            changes.pop("null", self.null),
            changes.pop("booleans", self.booleans),
            changes.pop("numbers", self.numbers),
            changes.pop("strings", self.strings),
            changes.pop("arrays", self.arrays),
            changes.pop("objects", self.objects),
        )

    def is_void(self):
        """Certainly no value at all (looking no deeper than this)."""
        return not (self.null or self.booleans or self.arrays or self.objects or self.numbers) and (
            self.strings == NOTHING
        )


def replace(_Content content not None, **changes):
    """A copy of members, items, counts or a shape with other values in some fields."""
    made = content.changed(changes)
    if changes:
        raise TypeError(f"{type(content).__name__} has no field {next(iter(changes))!r}")
    return made


ANY_MEMBERS = Members()
ANY_ITEMS = Items()
ANYTHING = Shape(True, frozenset((True, False)), ALL_NUMBERS, ALL, (ANY_ITEMS,), (ANY_MEMBERS,))
VOID = Shape(False, frozenset(), NO_NUMBERS, NOTHING, (), ())
