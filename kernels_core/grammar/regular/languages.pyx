"""Sets of strings as extended regular expressions over code points: closed under union, intersection and complement.

A `Language` is immutable and compares by content.  It stays symbolic (`{0,10000}` is one node, not ten thousand
states) until an automaton is asked for; the functions that make it keep it small:

- a finite set of strings (`Words`) is filtered, not intersected: membership is decided here and now;
- complements are pushed down to the leaves; lengths (`any{l,h}`) are complemented to lengths;
- what surely covers everything or nothing becomes `ALL` or `NOTHING`.

Membership and automata come from Brzozowski derivatives (J. ACM 11, 1964): `derivative(L, c)` is the set of all w
with `cw` in L.  Derivatives know intersection and complement as well as union, so no product construction is needed.

A language holds only languages that were there before it, so there are no cycles, and it is left out of cyclic garbage
collection: patterns and their derivatives are many objects.

Read on: `dfa.py` (automata), `assertions.py`, `patterns.py` and `from_rules.py` (who builds languages).
"""

import threading
from contextlib import contextmanager
from itertools import product
from math import prod

cimport cython

from cpython.object cimport Py_EQ, Py_NE

from kernels_core.clock cimport breathe, rest
from kernels_core.grammar.ranges cimport canonical, contains
from kernels_core.grammar.regular.memo cimport Memo

from kernels_core.grammar import charset

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void *container)

# Of languages that are built from what a user wrote.
MAX_SIZE = 200_000
MAX_DEPTH = 100
# What is nested deeper is not followed by recursion.
cdef int DEEPEST = 500
# More than so many members are not compared with each other.
cdef int FEW = 64
# What languages weigh at most that are remembered: parts that they share count each time.
cdef long long HEAVY = 50_000
# Sizes are not counted beyond this: parts that are shared count each time, which may double with every level.
cdef long long ENDLESS = 1 << 60


class TooManyStates(Exception):
    """An automaton would need more states than its budget."""

    def __init__(self, limit):
        self.limit = limit
        super().__init__(f"more than {limit:,} states")


class TooLarge(TooManyStates):
    """A language would be too large to write out, or nested too deeply to follow."""

    def __init__(self, what):
        self.limit = MAX_SIZE
        Exception.__init__(self, what)


# -- what languages are made of ------------------------------------------------------------------------------------

@cython.no_gc
cdef class Language:
    """A set of strings.  Equal content, equal object for all purposes; `nullable` says whether "" is in it.

    `size` counts nodes and letters as they would be written out (parts that are shared count each time), `depth` how
    far they are nested: what is to be written, or followed by recursion, is bounded by them.  `unfolds` is true of
    an `Unfolding` and of everything that holds one.  `plain`: not empty, and without intersections and complements, but
    for "none of these words".  `single`: the word of a set of one word, else None.
    """

    cdef Py_hash_t mixed
    cdef readonly bint nullable, unfolds, plain
    cdef readonly long long size
    cdef readonly int depth
    cdef readonly str single

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

    cdef readonly frozenset words

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

    cdef readonly tuple ranges

    def __init__(self, tuple ranges not None):
        self.ranges = ranges
        self.size = self.depth = 1
        self.plain = True
        self.mixed = hash(ranges) ^ 0x52

    cdef object key(self):
        return self.ranges


@cython.no_gc
cdef class Several(Language):
    """Two or more languages, put together."""

    cdef readonly tuple items

    cdef int take(self, tuple items, bint each) except -1:
        """Take them; "" has to be in one of them, or in `each`."""
        cdef Language item
        self.items = items
        self.hold(items, 1)
        self.nullable = each
        for item in items:
            if item.nullable != each:
                self.nullable = item.nullable
        return 0

    cdef object key(self):
        return frozenset(self.items)


@cython.final
@cython.no_gc
cdef class Cat(Several):
    """Concatenation."""

    def __init__(self, tuple items not None):
        self.take(items, True)
        self.mixed = hash(items) ^ 0x53

    cdef object key(self):
        return self.items


@cython.final
@cython.no_gc
cdef class Loop(Language):
    """`item` from `least` to `most` times; None is without bound."""

    cdef readonly Language item
    cdef readonly object least, most

    def __init__(self, Language item not None, least, most):
        self.item, self.least, self.most = item, least, most
        self.hold((item,), 1)
        self.nullable = least == 0 or item.nullable
        self.mixed = hash((item, least, most)) ^ 0x54

    cdef object key(self):
        return self.item, self.least, self.most


@cython.final
@cython.no_gc
cdef class Alt(Several):
    """Union; `items` keeps an order for printing, equality does not look at it."""

    def __init__(self, tuple items not None):
        self.take(items, False)
        self.mixed = hash(frozenset(items)) ^ 0x55


@cython.final
@cython.no_gc
cdef class And(Several):
    """Intersection."""

    def __init__(self, tuple items not None):
        self.take(items, True)
        self.plain = False
        self.mixed = hash(frozenset(items)) ^ 0x56


@cython.final
@cython.no_gc
cdef class Not(Language):
    """All strings but those of `item`, which is none of Alt, And, Not."""

    cdef readonly Language item

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

    cdef object content

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


NOTHING = Words(frozenset())
EPSILON = Words(frozenset(("",)))
ANY_CHARACTER = Chars(charset.ALL)
ALL = Loop(ANY_CHARACTER, 0, None)

# The same, as the code below compares with them.
cdef Language _NOTHING = NOTHING, _EPSILON = EPSILON, _ANY = ANY_CHARACTER, _ALL = ALL


cdef bint _same(Language one, Language other):
    return one is other or one == other


cdef bint _is_nothing(Language item):
    return type(item) is Words and not (<Words>item).words


cdef bint _is_empty_text(Language item):
    return item is _EPSILON or (type(item) is Words and (<Words>item).words == (<Words>_EPSILON).words)


cdef bint _is_all(Language item):
    return item is _ALL or (type(item) is Loop and item == _ALL)


def bounded(Language item not None):
    """`item`, or `TooLarge`."""
    if item.size > MAX_SIZE:
        raise TooLarge(f"more than {MAX_SIZE:,} nodes")
    if item.depth > MAX_DEPTH:
        raise TooLarge(f"more than {MAX_DEPTH} levels of nesting")
    return item


cdef bint _has_surrogate(str text):
    return any(["\ud800" <= letter <= "\udfff" for letter in text])


def words(strings):
    """The finite set of `strings`.  Strings with lone surrogates have no UTF-8 spelling and are left out."""
    return Words(frozenset([text for text in strings if (<str>text).isascii() or not _has_surrogate(text)]))


def character(tuple ranges not None):
    """One character out of `ranges`."""
    ranges = canonical(ranges)
    return Chars(ranges) if ranges else NOTHING


# -- sequences ----------------------------------------------------------------------------------------------------

def concat(*items):
    """One after the other.  Beside `ALL`, what may be empty says nothing, and loops need only their minimum."""
    return concat_of(items)


cdef Language concat_of(tuple items):
    cdef list flat = []
    cdef Language item, part
    for item in items:
        if _is_nothing(item):
            return _NOTHING
        if type(item) is Cat:
            for part in (<Cat>item).items:
                _append(flat, part)
        else:
            _append(flat, item)
    if not flat:
        return _EPSILON
    return flat[0] if len(flat) == 1 else Cat(tuple(flat))


cdef int _append(list flat, Language item) except -1:
    cdef Language before, core
    cdef frozenset head, tail
    if _is_empty_text(item):
        return 0
    if _is_all(item):
        while flat and (<Language>flat[len(flat) - 1]).nullable:
            flat.pop()
        if flat:
            core = _least(flat[len(flat) - 1])
            if core is not None:
                flat[len(flat) - 1] = core
    elif flat:
        before = flat[len(flat) - 1]
        if _is_all(before):
            if item.nullable:
                return 0
            core = _least(item)
            if core is not None:
                item = core
        elif type(item) is Words and type(before) is Words:
            head, tail = (<Words>before).words, (<Words>item).words
            if len(head) == 1 and len(tail) == 1:
                flat[len(flat) - 1] = Words(frozenset((next(iter(head)) + next(iter(tail)),)))
                return 0
    flat.append(item)
    return 0


cdef Language _least(Language item):
    """`x{l,h}` beside ALL is as good as `x{l}`."""
    if type(item) is Loop and (<Loop>item).most != (<Loop>item).least and (<Loop>item).least > 0:
        return loop((<Loop>item).item, (<Loop>item).least, (<Loop>item).least)
    return None


cpdef Language loop(Language item, least, most):
    """`item` from `least` to `most` times."""
    if most is not None and most < least:
        return _NOTHING
    if most == 0 or _is_empty_text(item):
        return _EPSILON
    if _is_nothing(item):
        return _EPSILON if least == 0 else _NOTHING
    if least == 1 and most == 1:
        return item
    if item.nullable:
        least = 0
    if type(item) is Loop and (<Loop>item).least <= 1 and (<Loop>item).most is None and least <= 1:
        return loop((<Loop>item).item, min((<Loop>item).least, least), None)
    return Loop(item, least, most)


# -- unions -------------------------------------------------------------------------------------------------------

def union(*items):
    """In any of `items`."""
    return union_of(items)


cdef Language union_of(tuple items):
    cdef dict flat = {}
    cdef set finite = set()
    cdef list ranges = []
    cdef Language item, part, spans
    cdef bint unfolds = False
    for item in items:
        for part in (<Alt>item).items if type(item) is Alt else (item,):
            if type(part) is Words:
                finite |= (<Words>part).words
            elif type(part) is Chars:
                ranges.append((<Chars>part).ranges)
            elif _is_all(part):
                return _ALL
            else:
                flat[part] = None
    if ranges:
        flat = {character(charset.union(*ranges)): None, **flat}
    if finite and flat:
        finite = {text for text in finite if not _certainly(flat, text)}
    if finite:
        flat = {Words(frozenset(finite)): None, **flat}
    spans = _length_spans(flat)
    if spans is not None:
        return spans
    for part in flat:
        if type(part) is Not and (<Not>part).item in flat:
            return _ALL
        unfolds = unfolds or part.unfolds
    if not flat:
        return _NOTHING
    cdef tuple kept = _absorbed(flat) if unfolds else tuple(flat)
    return kept[0] if len(kept) == 1 else Alt(kept)


cdef tuple _absorbed(dict flat):
    """Without members that are another member and a condition more: `a | (a & b)` is `a`.

    What unfolds goes round and round; with this and the distribution in `intersection` its derivatives are sets of
    sets of a few languages, and so are finitely many.
    """
    if len(flat) > FEW:
        return tuple(flat)
    cdef dict conditions = {
        part: frozenset((<And>part).items) if type(part) is And else frozenset((part,)) for part in flat
    }
    cdef list every = list(conditions.values())
    return tuple([part for part, wanted in conditions.items() if not any([other < wanted for other in every])])


cdef bint _certainly(dict parts, str text):
    """Cheap membership in one of `parts`, for merging only."""
    cdef Language part
    for part in parts:
        if type(part) is Chars:
            if len(text) == 1 and contains((<Chars>part).ranges, ord(text)):
                return True
            continue
        bounds = length_bounds(part)
        if bounds is not None and bounds[0] <= len(text) and (bounds[1] is None or len(text) <= bounds[1]):
            return True
    return False


cpdef tuple length_bounds(Language item):
    """`(l, h)` if the language is "any string of l to h characters", else None."""
    if type(item) is Loop:
        return ((<Loop>item).least, (<Loop>item).most) if _same((<Loop>item).item, _ANY) else None
    if type(item) is Chars:
        return (1, 1) if _same(item, _ANY) else None
    return (0, 0) if _is_empty_text(item) else None


cdef Language _length_spans(dict flat):
    """Unions of lengths merge where they touch: "at most 3" or "at least 4" is everything."""
    cdef list spans = []
    if len(flat) < 2:
        return None
    for part in flat:
        bounds = length_bounds(part)
        if bounds is None:
            return None
        spans.append(bounds)
    spans.sort(key=_first)
    low, high = spans[0]
    for least, most in spans[1:]:
        if high is not None and least > high + 1:
            return None
        high = None if high is None or most is None else max(high, most)
    return loop(_ANY, low, high)


def _first(pair):
    return pair[0]


# -- intersections and complements --------------------------------------------------------------------------------

def intersection(*items):
    """In all of `items`."""
    return _intersection(items)


cdef Language _intersection(tuple items):
    cdef dict flat = {}
    cdef set excluded = set()
    cdef Language item, part
    cdef bint unfolds = False
    least, most = 0, None
    if len(items) == 2:
        # The usual case, and nothing to look at.
        if items[0] is items[1] or _is_all(items[1]):
            return items[0]
        if _is_all(items[0]):
            return items[1]
    for item in items:
        for part in (<And>item).items if type(item) is And else (item,):
            if type(part) is Words:
                return _kept(<Words>part, item, items)
            bounds = length_bounds(part)
            if bounds is not None:
                least = max(least, bounds[0])
                most = bounds[1] if most is None else most if bounds[1] is None else min(most, bounds[1])
            elif type(part) is Not and type((<Not>part).item) is Words:
                excluded |= (<Words>(<Not>part).item).words
            else:
                flat[part] = None
    if most is not None and most < least:
        return _NOTHING
    for part in flat:
        if type(part) is Not and (<Not>part).item in flat:
            return _NOTHING
    if least or most is not None:
        flat = {loop(_ANY, least, most): None, **flat}
        excluded = {text for text in excluded if least <= len(text) and (most is None or len(text) <= most)}
    if excluded and flat:
        excluded = {text for text in excluded if _in_all(flat, text)}
    if excluded:
        flat[Not(Words(frozenset(excluded)))] = None
    if not flat:
        return _ALL
    if len(flat) == 1:
        return next(iter(flat))
    part = _by_length(flat)
    if part is not None:
        return part
    for part in flat:
        unfolds = unfolds or part.unfolds
    if unfolds:
        choices = [(<Alt>part).items if type(part) is Alt else (part,) for part in flat]
        if 1 < prod(map(len, choices)) <= FEW:
            return union_of(tuple([_intersection(chosen) for chosen in product(*choices)]))
    return And(tuple(flat))


cdef Language _by_length(dict flat):
    """The parts of an intersection as one language, where they are unions of lengths and words ("3 characters at most,
    or one of these"); None where they are not, and where there is only one such union."""
    cdef list spans = [(0, None)], own
    cdef set named = set()
    cdef Language part, one, found
    cdef Py_ssize_t unions = 0
    excluded = None
    for part in flat:
        own = []
        if type(part) is Not and type((<Not>part).item) is Words:
            excluded = part
            continue
        for one in (<Alt>part).items if type(part) is Alt else (part,):
            if type(one) is Words:
                named |= (<Words>one).words
                continue
            bounds = length_bounds(one)
            if bounds is None:
                return None
            own.append(bounds)
        if len(spans) * len(own) > FEW:
            return None
        spans = [
            (max(low, least), most if high is None else high if most is None else min(high, most))
            for low, high in spans
            for least, most in own
            if (high is None or least <= high) and (most is None or low <= most)
        ]
        unions += 1
    if unions < 2:
        return None
    found = Words(frozenset([text for text in named if _in_all(flat, text)]))
    found = union_of((found, *[loop(_ANY, low, high) for low, high in spans]))
    return found if excluded is None else _intersection((found, excluded))


cdef Language _kept(Words part, Language item, tuple items):
    """The words of `part` that are in everything else; `part` is `item`, or a part of it."""
    cdef list others = [other for other in items if other is not item]
    if type(item) is And:
        others += [other for other in (<And>item).items if other is not part]
    if not others:
        return part
    return Words(frozenset([text for text in part.words if _in_all(others, text)]))


cdef bint _in_all(parts, str text) except -1:
    cdef Language part
    for part in parts:
        if not matches(part, text):
            return False
    return True


cpdef Language complement(Language item):
    """All strings that are not in `item`."""
    cdef Language below, above
    if _is_nothing(item):
        return _ALL
    bounds = length_bounds(item)
    if bounds is not None:
        below = loop(_ANY, 0, bounds[0] - 1) if bounds[0] else _NOTHING
        above = _NOTHING if bounds[1] is None else loop(_ANY, bounds[1] + 1, None)
        return union_of((below, above))
    if type(item) is Not:
        return (<Not>item).item
    if type(item) is Alt or type(item) is And:
        if item.depth > DEEPEST:
            raise RecursionError("a language is nested too deeply")
        if type(item) is Alt:
            return _intersection(tuple([complement(part) for part in (<Alt>item).items]))
        return union_of(tuple([complement(part) for part in (<And>item).items]))
    return Not(item)


# -- derivatives --------------------------------------------------------------------------------------------------

class _Work(threading.local):
    """How much work is left for derivatives in this thread; None: any amount."""

    left = None


_WORK = _Work()
# (language, code point) -> derivative, (language, text) -> membership.
cdef Memo _DERIVED = Memo(1 << 12, 500_000)
cdef Memo _MATCHED = Memo(1 << 12, 1_000_000)


@contextmanager
def limited_work(most):
    """Derivatives made inside look at `most` parts of languages in all.  Raises `TooLarge` beyond that.

    States alone do not bound them: each derivative of nested counts is larger than the one before.
    """
    before = _WORK.left
    _WORK.left = most if before is None else min(most, before)
    try:
        yield
    finally:
        _WORK.left = before


cpdef int spend(Py_ssize_t amount) except -1:
    """Note that so many parts were looked at.  Raises `TooLarge` inside `limited_work`."""
    rest(4 * <int>amount)
    left = _WORK.left
    if left is not None:
        _WORK.left = left - amount
        if left < amount:
            raise TooLarge("too much work")
    return 0


cpdef Language derivative(Language item, code_point):
    """All w such that the character `code_point` followed by w is in `item`.

    Raises `TooLarge` inside `limited_work`.
    """
    # Leaves are quicker to look at than to look up.
    if type(item) is Chars:
        spend(1)
        return _EPSILON if contains((<Chars>item).ranges, code_point) else _NOTHING
    key = (item, code_point)
    cdef Language found = _DERIVED.get(key)
    if found is None:
        if item.depth > DEEPEST:
            raise RecursionError("a language is nested too deeply")
        found = _derived(item, code_point)
        _DERIVED.put(key, found, _breadth(found))
    return found


cdef long long _breadth(Language item):
    """What a derivative holds that was not there before: its parts are other derivatives, or parts of what it is of."""
    if isinstance(item, Several):
        return len((<Several>item).items)
    return item.size if type(item) is Words else 1


cdef Language _derived(Language item, code_point):
    cdef Language inner, part
    cdef tuple items
    cdef list parts
    cdef Py_ssize_t i
    cdef str first
    if type(item) is Words:
        spend(1)
        first = chr(code_point)
        return Words(frozenset([text[1:] for text in (<Words>item).words if (<str>text).startswith(first)]))
    if type(item) is Loop:
        spend(1)
        inner = derivative((<Loop>item).item, code_point)
        if _is_nothing(inner):
            return _NOTHING
        least, most = (<Loop>item).least, (<Loop>item).most
        return concat_of((inner, loop((<Loop>item).item, max(0, least - 1), None if most is None else most - 1)))
    if type(item) is Cat:
        items = (<Cat>item).items
        spend(len(items))
        parts = []
        for i in range(len(items)):
            part = items[i]
            inner = derivative(part, code_point)
            if not _is_nothing(inner):
                parts.append(concat_of((inner, *items[i + 1:])))
            if not part.nullable:
                break
        return union_of(tuple(parts))
    if type(item) is Alt:
        items = (<Alt>item).items
        spend(len(items))
        return union_of(tuple([derivative(part, code_point) for part in items]))
    if type(item) is And:
        items = (<And>item).items
        spend(len(items))
        return _intersection(tuple([derivative(part, code_point) for part in items]))
    spend(1)
    if type(item) is Not:
        return complement(derivative((<Not>item).item, code_point))
    if isinstance(item, Unfolding):
        return item.derive(code_point)
    raise TypeError(f"not a language: {item!r}")


cpdef bint matches(Language item, str text) except -1:
    """Is `text` in the language?"""
    if type(item) is Words:
        return text in (<Words>item).words
    bounds = length_bounds(item)
    if bounds is not None:
        return bounds[0] <= len(text) and (bounds[1] is None or len(text) <= bounds[1])
    if type(item) is Not:
        return not matches((<Not>item).item, text)
    if type(item) is And:
        return _in_all((<And>item).items, text)
    key = (item, text)
    known = _MATCHED.get(key)
    if known is None:
        known = _reads(item, text)
        _MATCHED.put(key, known, min(item.size, HEAVY) + len(text))
    return known


cdef bint _reads(Language item, str text) except -1:
    cdef Language part
    if type(item) is Alt:
        for part in (<Alt>item).items:
            if matches(part, text):
                return True
        return False
    for letter in text:
        item = derivative(item, ord(letter))
        if _is_nothing(item):
            return False
        if _is_all(item):
            return True
    return item.nullable
