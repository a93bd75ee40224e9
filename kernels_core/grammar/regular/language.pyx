"""What languages are made of: the classes alone, which compare by content and know their size.

They are made by the functions in `languages.py`, which keep them in a form that stays small; code takes them from there.
A language holds only languages that were there before it, so there are no cycles, and it is left out of cyclic garbage
collection: patterns and their derivatives are many objects.
"""

cimport cython

from cpython.object cimport Py_EQ, Py_NE

from kernels_core.clock cimport breathe

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void *container)

# Sizes are not counted beyond this: parts that are shared count each time, which may double with every level.
cdef long long ENDLESS = 1 << 60


@cython.no_gc
cdef class Language:
    """A set of strings.  Equal content, equal object for all purposes; `nullable` says whether "" is in it.

    `size` counts nodes and letters as they would be written out (parts that are shared count each time), `depth` how
    far they are nested: what is to be written, or followed by recursion, is bounded by them.  `unfolds` is true of
    an `Unfolding` and of everything that holds one.  `plain`: not empty, and without intersections and complements, but
    for "none of these words".  `single`: the word of a set of one word, else None.
    """

    cdef object key(self):
        """What a language is identified by, besides its class."""
        raise NotImplementedError

    cdef int hold(self, object parts, long long own) except -1:
        """Count `parts`, and `own` nodes or letters."""
        cdef Language part
        cdef int depth = 0, count = 0
        self.plain = True
        for part in parts:
            count += 1
            own += part.size
            if part.depth > depth:
                depth = part.depth
            self.unfolds = self.unfolds or part.unfolds
            self.plain = self.plain and part.plain
            if own > ENDLESS:
                own = ENDLESS
        self.size = own
        self.depth = depth + 1
        return breathe(4 + count)

    def __richcmp__(self, other, int operation):
        cdef bint same
        if operation != Py_EQ and operation != Py_NE or not isinstance(other, Language):
            return NotImplemented
        if self is other:
            same = True
        elif type(self) is not type(other) or self.mixed != (<Language>other).mixed:
            same = False
        else:
            same = self.key() == (<Language>other).key()
        return same == (operation == Py_EQ)

    def __hash__(self):
        return self.mixed

    def __repr__(self):
        return f"{type(self).__name__}({self.key()!r})"


@cython.final
@cython.no_gc
cdef class Words(Language):
    """A finite set of strings."""

    def __init__(self, frozenset words not None):
        self.words = words
        self.nullable = "" in words
        self.plain = len(words) > 0
        if len(words) == 1:
            self.single = next(iter(words))
        cdef long long letters = 1
        cdef bint plain = type(words) is frozenset
        for text in words:
            letters += len(<str>text)
            plain = plain and type(text) is str
        if plain:
            # A set of strings is on no cycle.  Tracked, remembered words would be read over by each full collection,
            # every string of them, which drives everything else out of the machine's caches.
            PyObject_GC_UnTrack(<void *>words)
        self.size = letters
        self.depth = 1
        self.mixed = hash(words) ^ 0x51
        breathe(1 + <int>len(words))

    cdef object key(self):
        return self.words


@cython.final
@cython.no_gc
cdef class Chars(Language):
    """One character out of `ranges`, a canonical non-empty set of code points."""

    def __init__(self, tuple ranges not None):
        self.ranges = ranges
        self.size = self.depth = 1
        self.plain = True
        self.mixed = hash(ranges) ^ 0x52

    cdef object key(self):
        return self.ranges


@cython.final
@cython.no_gc
cdef class Cat(Language):
    """Concatenation of two or more languages."""

    def __init__(self, tuple items not None):
        cdef Language item
        self.items = items
        self.hold(items, 1)
        self.nullable = True
        for item in items:
            self.nullable = self.nullable and item.nullable
        self.mixed = hash(items) ^ 0x53

    cdef object key(self):
        return self.items


@cython.final
@cython.no_gc
cdef class Loop(Language):
    """`item` from `least` to `most` times; None is without bound."""

    def __init__(self, Language item not None, least, most):
        self.item, self.least, self.most = item, least, most
        self.hold((item,), 1)
        self.nullable = least == 0 or item.nullable
        self.mixed = hash((item, least, most)) ^ 0x54

    cdef object key(self):
        return self.item, self.least, self.most


@cython.final
@cython.no_gc
cdef class Alt(Language):
    """Union; `items` keeps an order for printing, equality does not look at it."""

    def __init__(self, tuple items not None):
        cdef Language item
        self.items = items
        self.hold(items, 1)
        for item in items:
            self.nullable = self.nullable or item.nullable
        self.mixed = hash(frozenset(items)) ^ 0x55

    cdef object key(self):
        return frozenset(self.items)


@cython.final
@cython.no_gc
cdef class And(Language):
    """Intersection."""

    def __init__(self, tuple items not None):
        cdef Language item
        self.items = items
        self.hold(items, 1)
        self.plain = False
        self.nullable = True
        for item in items:
            self.nullable = self.nullable and item.nullable
        self.mixed = hash(frozenset(items)) ^ 0x56

    cdef object key(self):
        return frozenset(self.items)


@cython.final
@cython.no_gc
cdef class Not(Language):
    """All strings but those of `item`, which is none of Alt, And, Not."""

    def __init__(self, Language item not None):
        self.item = item
        self.hold((item,), 1)
        self.plain = type(item) is Words
        self.nullable = not item.nullable
        self.mixed = hash(item) ^ 0x57

    cdef object key(self):
        return self.item


@cython.no_gc
cdef class Unfolding(Language):
    """A language that says by itself what its derivatives are, for what the algebra has no name for.

    A class below this one is a Python class: it passes what it is identified by, whether "" is in it, and the languages
    that it holds.
    """

    def __init__(self, content, bint nullable, parts=()):
        self.content = content
        self.nullable = nullable
        self.hold(parts, 1)
        self.unfolds = True
        self.plain = False
        self.mixed = hash((type(self), content))

    cdef object key(self):
        return self.content

    def derive(self, code_point):
        """See `languages.derivative`.  Raises `TooManyStates`."""
        raise NotImplementedError

    def ingredients(self):
        """Languages and sets of characters that decide which code points its derivatives tell apart."""
        raise NotImplementedError
