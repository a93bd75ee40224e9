"""`SchemaAlgebra`: makes terms, works out their shapes when asked, and does Boolean algebra on shapes.

Everything is memoised: equal terms are one object, a term's shape is worked out once.  Objects and arrays become
unions of alternatives, whose intersections multiply; alternatives without a value are dropped as soon as that is
certain, and a budget stops the rest (`TooLarge`).

"Certain" looks at scalars and at what is required.  Where it takes too long to tell, an alternative stays; the
grammar that is made of it then has rules without texts, which the grammar's own analysis removes.  So nothing depends
on how far this looks, but size.

Read on: `members.py` and `items.py` (one alternative), `reading.py` (schemas to shapes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ...clock import look
from ..regular.dfa import is_empty
from ..regular.languages import NOTHING, Language, Words, complement, intersection, union
from . import items as item_shapes
from . import members as member_shapes
from .numbers import in_one, points, united
from .shapes import ANY_ITEMS, ANY_MEMBERS, ANYTHING, VOID, Items, Members, Shape, Tags, replace
from .terms import FALSE, TRUE, AllOf, AnyOf, Complement, Constant, Exactly, Place, Term, in_any_order

T = TypeVar("T")

# Alternatives that intersections and complements may bring about, if neither side had more.
MAX_ALTERNATIVES = 256
# Alternatives that unions may bring about: a schema lists them itself (a thousand tools).
MAX_LISTED = 4096
# Intersections of two alternatives in one compile.
MAX_WORK = 60_000
# Rules of all alternatives that are intersected in one compile.
MAX_RULES = 2_000_000
# So few alternatives are compared each with each.
_FEW = 6
# Intersections of shapes in one compile; the largest schemas that were met take a tenth.
MAX_MEETS = 200_000
# Looking into members of members, to see whether there is any value.
_MAX_LOOK = 6
# Intersections that one such look may take.
_MAX_LOOK_WORK = 50


_TOO_MANY_WAYS = (
    "the conditions of the schemas that apply here meet in too many ways to work out; let fewer of them apply to one "
    "value, or tell alternatives apart by a required member with a constant"
)
_TOO_MANY_ALTERNATIVES = (
    "the schemas that apply here leave too many alternatives; let fewer of them apply to one value, or tell "
    "alternatives apart by a required member with a constant"
)


class TooLarge(Exception):
    """A normal form went past its budget.  The message says what a schema's author can do."""


class Spent(TooLarge):
    """The budget of the whole compile is used up, so every further normal form goes past it."""


class Circular(Exception):
    """A schema refers to itself without going into the value, so it says nothing at all."""


class _Unfinished(Exception):
    """A shape is asked for while it is being worked out further up: the answer is not known yet."""


class _Enough(_Unfinished):
    """A look takes too long to tell."""


class SchemaAlgebra:
    """The terms and shapes of one schema.  `read` works out the shape of a schema at its place, and whether that is
    exact."""

    def __init__(self, read: Callable[[Place], tuple[Shape, bool]]) -> None:
        self._read = read
        # A term of several conditions is known by them in their order, which decides that of names.
        self._all: dict[tuple[Term, ...], AllOf] = {}
        self._first: dict[frozenset[Term], AllOf] = {}
        self._any: dict[frozenset[Term], AnyOf] = {}
        # The same few questions are asked again and again, so the answers are kept as they were asked for.
        self._every: dict[tuple[Term, ...], Term] = {}
        self._some: dict[tuple[Term, ...], Term] = {}
        self._met: dict[tuple[int, Members, Members], tuple[Members, ...]] = {}
        self._others: dict[tuple[int, Members], tuple[Members, ...]] = {}
        self._scalars: dict[tuple[Term, int], list[Shape] | None] = {}
        self._negated: dict[Term, Term] = {TRUE: FALSE, FALSE: TRUE}
        self._fixed: dict[Shape, Term] = {ANYTHING: TRUE, VOID: FALSE}
        self._shapes: dict[Term, Shape] = {TRUE: ANYTHING, FALSE: VOID}
        self._inexact: set[Term] = set()
        self._open: dict[Term, int] = {}
        self._level = 0
        self._void: dict[Term, bool] = {}
        self._disjoint: dict[tuple[Term, Term], bool] = {}
        self._tags: dict[Members, Tags] = {}
        self._work = 0
        self._rules = 0
        self._meets = 0
        self._enough = 0

    def forget(self) -> None:
        """Let go of all terms and shapes: nothing will be asked any more.

        What the algebra remembers leads back to it, so that after a large request that was refused tens of megabytes
        would wait for the garbage collector, among what goes on to be used.
        """
        for found in vars(self).values():
            if isinstance(found, dict | set):
                found.clear()

    def renew(self) -> None:
        """Begin to count work anew, for a rule that is made later: what it takes was known to be little."""
        self._work = self._rules = self._meets = 0

    # -- terms ----------------------------------------------------------------------------------------------------

    def fixed(self, shape: Shape) -> Term:
        """The term of a known shape."""
        found = self._fixed.get(shape)
        if found is None:
            found = self._fixed[shape] = Exactly()
            self._shapes[found] = shape
        return found

    def all_of(self, *terms: Term) -> Term:
        """Intersection; the first mention decides the order of names."""
        found = self._every.get(terms)
        if found is None:
            found = self._every[terms] = self._all_of(terms)
        return found

    def _all_of(self, terms: tuple[Term, ...]) -> Term:
        parts: dict[Term, None] = {}
        for term in terms:
            for part in term.parts if isinstance(term, AllOf) else (term,):
                if part is not TRUE:
                    parts[part] = None
        if FALSE in parts or any(self._negated.get(part) in parts for part in parts):
            return FALSE
        if len(parts) < 2:
            return next(iter(parts), TRUE)
        order = tuple(parts)
        found = self._all.get(order)
        if found is None:
            whole = frozenset(order)
            found = self._all[order] = AllOf(order, self._first.get(whole))
            self._first.setdefault(whole, found)
        return found

    def any_of(self, *terms: Term) -> Term:
        """Union."""
        found = self._some.get(terms)
        if found is None:
            found = self._some[terms] = self._any_of(terms)
        return found

    def _any_of(self, terms: tuple[Term, ...]) -> Term:
        parts: dict[Term, None] = {}
        for term in terms:
            for part in term.parts if isinstance(term, AnyOf) else (term,):
                if part is not FALSE:
                    parts[part] = None
        if TRUE in parts or any(self._negated.get(part) in parts for part in parts):
            return TRUE
        if len(parts) < 2:
            return next(iter(parts), FALSE)
        whole = frozenset(parts)
        found = self._any.get(whole)
        if found is None:
            found = self._any[whole] = AnyOf(tuple(parts))
        return found

    def negate(self, term: Term) -> Term:
        """Complement."""
        found = self._negated.get(term)
        if found is None:
            match term:
                case AllOf():
                    found = self.any_of(*(self.negate(part) for part in term.parts))
                case AnyOf():
                    found = self.all_of(*(self.negate(part) for part in term.parts))
                case _:
                    found = Complement(term)
            self._negated[term] = found
            self._negated.setdefault(found, term)
        return found

    # -- shapes of terms ------------------------------------------------------------------------------------------

    def shape(self, term: Term) -> Shape:
        """The shape of `term`.  Raises `TooLarge` and `Circular`."""
        found = self._shapes.get(term)
        if found is not None:
            return found
        if term in self._open:
            if self._open[term] == self._level:
                raise Circular
            raise _Unfinished
        self._open[term] = self._level
        try:
            shape, exact = self._work_out(term)
        finally:
            del self._open[term]
        self._shapes[term] = shape
        if not exact:
            self._inexact.add(term)
        return shape

    def is_known(self, term: Term) -> bool:
        """Has the shape of `term` been worked out?"""
        return term in self._shapes

    def is_exact(self, term: Term) -> bool:
        """Is the shape of `term` its meaning, or only something wider?"""
        self.shape(term)
        return term not in self._inexact

    def _work_out(self, term: Term) -> tuple[Shape, bool]:
        match term:
            case Place():
                return self._read(term)
            case AllOf():
                # Conditions are added one at a time: all but the last are often known together.
                before = self._all.get(term.parts[:-1])
                if before is not None and before in self._shapes:
                    shape = self.meet(self._shapes[before], self.shape(term.parts[-1]))
                    return shape, self._inexact.isdisjoint(term.parts)
                shape = ANYTHING
                for part in term.parts:
                    shape = self.meet(shape, self.shape(part))
                return shape, self._inexact.isdisjoint(term.parts)
            case AnyOf():
                return self.join(*(self.shape(part) for part in term.parts)), self._inexact.isdisjoint(term.parts)
            case Complement():
                # Of something wider than it should be, the complement would be too narrow.
                shape = self.shape(term.part)
                return (self.complement(shape), True) if term.part not in self._inexact else (ANYTHING, False)
            case Constant() | Exactly():
                return self._shapes[term], True
        raise TypeError(f"not a term: {term!r}")

    def is_void(self, term: Term) -> bool:
        """Certainly without a value?  False also where it takes too long to tell."""
        if term is FALSE:
            return True
        if term is TRUE or isinstance(term, Place):
            return False  # a schema that nothing was added to: the grammar finds out
        term = in_any_order(term)
        known = self._void.get(term)
        if known is not None:
            return known
        if self._level >= _MAX_LOOK:
            return False
        self._begin_look()
        try:
            found = self.is_void_shape(self.shape(term))
        except _Enough:
            if self._level > 1:
                return False  # what is left of the work for a look depends on where it began
            found = False
        except (_Unfinished, TooLarge, Circular):
            return False
        finally:
            self._level -= 1
        self._void[term] = found
        return found

    def apart(self, left: Term, right: Term) -> bool:
        """Have two terms certainly no value in common?  False also where it takes too long to tell, and where neither
        adds anything to the other."""
        found = self._disjoint.get((left, right))
        if found is None:
            both = self.all_of(left, right)
            found = both is FALSE or (isinstance(both, AllOf) and self.is_void(both))
            # What a look leaves open another one may tell.
            if found or not isinstance(both, AllOf) or in_any_order(both) in self._void:
                self._disjoint[left, right] = found
        return found

    def _begin_look(self) -> None:
        """Go a level deeper, where only so much work is done."""
        if not self._level:
            self._enough = self._work + _MAX_LOOK_WORK
        self._level += 1

    def is_void_shape(self, shape: Shape) -> bool:
        """Certainly no value?"""
        if shape.null or shape.booleans or shape.arrays or shape.objects or shape.numbers:
            return False
        return is_empty(shape.strings)

    # -- algebra of shapes ----------------------------------------------------------------------------------------

    def meet(self, left: Shape, right: Shape) -> Shape:
        """Intersection."""
        if left is ANYTHING or left is right:
            return right
        if right is ANYTHING:
            return left
        self._count_meet()
        strings = intersection(left.strings, right.strings)
        if strings != NOTHING and strings != left.strings and strings != right.strings and is_empty(strings):
            strings = NOTHING
        shape = Shape(
            left.null and right.null,
            left.booleans & right.booleans,
            left.numbers & right.numbers,
            strings,
            self.meet_arrays(left.arrays, right.arrays),
            self.meet_objects(left.objects, right.objects),
        )
        return ANYTHING if shape == ANYTHING else shape

    def join(self, *shapes: Shape) -> Shape:
        """Union."""
        if any(shape is ANYTHING for shape in shapes):
            return ANYTHING
        if len(shapes) == 1:
            return shapes[0]
        booleans: frozenset[bool] = frozenset().union(*(shape.booleans for shape in shapes))
        joined = Shape(
            any(shape.null for shape in shapes),
            booleans,
            united(dict.fromkeys(shape.numbers for shape in shapes)),
            union(*(shape.strings for shape in shapes)),
            self._united(
                tuple(items for shape in shapes for items in shape.arrays),
                item_shapes.covers,
                MAX_LISTED,
            ),
            self._united_objects(tuple(members for shape in shapes for members in shape.objects), MAX_LISTED),
        )
        return ANYTHING if joined == ANYTHING else joined

    def complement(self, shape: Shape) -> Shape:
        """Everything else."""
        return Shape(
            not shape.null,
            frozenset((True, False)) - shape.booleans,
            ~shape.numbers,
            complement(shape.strings),
            self._complement_arrays(shape.arrays),
            self.complement_objects(shape.objects),
        )

    def one_of(self, terms: Iterable[Term], within: Shape) -> tuple[Shape, bool]:
        """Values of `within` in exactly one of `terms`, and whether that is exact.

        What `within` requires (a tag, mostly) often keeps the terms apart, so it comes first.
        """
        terms = tuple(terms)
        shapes = [self.shape(term) for term in terms]
        exact = self._inexact.isdisjoint(terms)
        if not exact:
            return self.meet(within, self.join(*shapes)), False
        seen: Language = NOTHING
        twice: Language = NOTHING
        for shape in shapes:
            both = intersection(seen, shape.strings)
            # Without complements, a union of patterns that have nothing in common is written as it stands.
            if both != NOTHING and not is_empty(both):
                twice = union(twice, both)
            seen = union(seen, shape.strings)
        strings = seen if twice == NOTHING else intersection(seen, complement(twice))
        once = Shape(
            sum(shape.null for shape in shapes) == 1,
            frozenset(value for value in (True, False) if sum(value in shape.booleans for shape in shapes) == 1),
            in_one([shape.numbers for shape in shapes]),
            NOTHING if is_empty(strings) else strings,
            (),
            (),
        )
        arrays = [self.meet_arrays(within.arrays, shape.arrays) for shape in shapes]
        objects = [self.meet_objects(within.objects, shape.objects) for shape in shapes]
        found = replace(
            self.meet(replace(within, arrays=(), objects=()), once),
            arrays=self._united(
                self._arrays_once_each(arrays, [s.arrays for s in shapes]),
                item_shapes.covers,
                max(len(shape.arrays) for shape in shapes),
            ),
            objects=self._united_objects(
                self._objects_once_each(objects, [s.objects for s in shapes]), sum(len(s.objects) for s in shapes)
            ),
        )
        return (ANYTHING if found == ANYTHING else found), True

    def _arrays_once_each(self, groups: list[tuple[Items, ...]], whole: list[tuple[Items, ...]]) -> tuple[Items, ...]:
        """Alternatives of each group without what they share with the others, which `whole` has in full."""
        result: list[Items] = []
        for i, group in enumerate(groups):
            others = [other for j, items in enumerate(whole) if j != i for other in items]
            for alternative in group:
                left: tuple[Items, ...] = (alternative,)
                for other in others:
                    if left and self.meet_arrays(left, (other,)):
                        left = self.meet_arrays(left, self._complement_arrays((other,)))
                result.extend(left)
        return tuple(result)

    def _objects_once_each(
        self, groups: list[tuple[Members, ...]], whole: list[tuple[Members, ...]]
    ) -> tuple[Members, ...]:
        """The same for objects.  What takes one condition is taken away together with all else that does: one by one,
        each would go through all the conditions before it, which is the cube of the number of groups."""
        result: list[Members] = []
        named = [(j, member_shapes.only_name(other), other) for j, members in enumerate(whole) for other in members]
        unnamed = [(j, other) for j, name, other in named if name is None]
        rivals = member_shapes.Rivals(self, [other for _, other in unnamed])
        for i, group in enumerate(groups):
            absent = dict.fromkeys(name for j, name, _ in named if name is not None and j != i)
            for alternative in group:
                conditions = member_shapes.without(absent)
                several: list[tuple[Members, tuple[Members, ...]]] = []
                for j, other in (unnamed[number] for number in rivals.of(alternative)):
                    if j == i:
                        continue
                    if self.meet_objects((alternative,), (other,)):
                        rest = self.complement_objects((other,))
                        if len(rest) > 1:
                            rest = self.meet_objects((alternative,), rest)
                        if len(rest) == 1:
                            conditions += rest
                        else:
                            several.append((other, rest))
                left: tuple[Members, ...] = (alternative,)
                if conditions:
                    self._count_work(len(conditions) + len(alternative.rules))
                    left = member_shapes.meet_all(self, (alternative, *conditions))
                for other, rest in several:
                    if left and self.meet_objects(left, (other,)):
                        left = self.meet_objects(left, rest)
                result.extend(left)
        return tuple(result)

    # -- unions of alternatives -----------------------------------------------------------------------------------

    def meet_arrays(self, left: tuple[Items, ...], right: tuple[Items, ...]) -> tuple[Items, ...]:
        """Intersection of two unions of arrays."""
        if left == (ANY_ITEMS,):
            return right
        if right == (ANY_ITEMS,):
            return left
        met = []
        for a in left:
            for b in right:
                self._count_work()
                both = item_shapes.meet(self, a, b)
                if both is not None:
                    met.append(both)
        return self._united(tuple(met), item_shapes.covers, max(len(left), len(right)))

    def meet_objects(self, left: tuple[Members, ...], right: tuple[Members, ...]) -> tuple[Members, ...]:
        """Intersection of two unions of objects."""
        if left == (ANY_MEMBERS,):
            return right
        if right == (ANY_MEMBERS,):
            return left
        met: list[Members] = []
        for a in left:
            for b in right:
                if a is not b and (a.required or b.required):
                    # Most alternatives differ by a tag, which is seen at a glance.
                    self._count_meet()
                    if member_shapes.tags_differ(self, self.tags(a), b) or member_shapes.tags_differ(
                        self, self.tags(b), a
                    ):
                        continue
                # What a look further in leaves open depends on how deep it is.
                key = (self._level, a, b)
                found = self._met.get(key)
                if found is None:
                    self._count_work(len(a.rules) + len(b.rules))
                    found = self._met[key] = member_shapes.meet_all(self, (a, b))
                met += found
        return self._united_objects(tuple(met), max(len(left), len(right)))

    def _complement_arrays(self, alternatives: tuple[Items, ...]) -> tuple[Items, ...]:
        result: tuple[Items, ...] = (ANY_ITEMS,)
        for alternative in alternatives:
            result = self.meet_arrays(result, item_shapes.complement(self, alternative))
        return result

    def complement_objects(self, alternatives: tuple[Members, ...]) -> tuple[Members, ...]:
        """All other objects."""
        result: tuple[Members, ...] = (ANY_MEMBERS,)
        for alternative in alternatives:
            key = (self._level, alternative)
            others = self._others.get(key)
            if others is None:
                others = self._others[key] = member_shapes.complement(self, alternative)
            result = self.meet_objects(result, others)
        return result

    def _count_meet(self) -> None:
        look(40)
        self._meets += 1
        if self._meets > MAX_MEETS:
            raise Spent(_TOO_MANY_WAYS)

    def _count_work(self, rules: int = 0) -> None:
        """An intersection; what it takes, and what is kept of it, grows with the number of rules."""
        look(1_000 + 20 * rules)
        self._work += 1
        self._rules += rules
        if self._work > MAX_WORK:
            raise Spent(_TOO_MANY_WAYS)
        if self._rules > MAX_RULES:
            raise Spent(_TOO_MANY_WAYS)
        if self._level and self._work > self._enough:
            raise _Enough

    def _united(self, alternatives: tuple[T, ...], covers: Callable[[T, T], bool], listed: int = 0) -> tuple[T, ...]:
        """Without duplicates and without alternatives that another one covers.  listed: there were as many before."""
        unique = tuple(dict.fromkeys(alternatives))
        if len(unique) > 1:
            kept: list[T] = []
            for one in unique:
                look(200 * len(kept))
                if any(covers(other, one) for other in kept):
                    continue
                kept = [other for other in kept if not covers(one, other)]
                kept.append(one)
            unique = tuple(kept)
        return self._bounded(unique, listed)

    def _bounded(self, alternatives: tuple[T, ...], listed: int) -> tuple[T, ...]:
        limit = max(MAX_ALTERNATIVES, listed)
        if len(alternatives) > limit:
            raise TooLarge(_TOO_MANY_ALTERNATIVES)
        return alternatives

    def _united_objects(self, alternatives: tuple[Members, ...], listed: int = 0) -> tuple[Members, ...]:
        """The same for objects.  What covers an alternative has its rules and required names there, so only such are
        compared: of many alternatives, most differ by a tag."""
        unique = tuple(dict.fromkeys(alternatives))
        if len(unique) <= _FEW:
            return self._united(unique, member_shapes.covers, listed)
        having: dict[tuple[Language, Term], list[int]] = {}
        requiring: dict[str, list[int]] = {}
        for number, members in enumerate(unique):
            for name in members.required:
                requiring.setdefault(name, []).append(number)
            for keys, term in members.rules:
                for part in dict.fromkeys((in_any_order(term), *(term.parts if isinstance(term, AllOf) else ()))):
                    having.setdefault((keys, part), []).append(number)
        covered: set[int] = set()
        everyone = range(len(unique))
        for number, large in enumerate(unique):
            shared = [having[keys, in_any_order(term)] for keys, term in large.rules if term is not TRUE]
            shared += [requiring[name] for name in large.required]
            few = min(shared, key=len) if shared else everyone
            look(200 * len(few))
            for other in few:
                if other == number or other in covered or number in covered:
                    continue
                if member_shapes.covers(large, unique[other]):
                    # Of two that cover each other the first stays.
                    covered.add(other if number < other or not member_shapes.covers(unique[other], large) else number)
        kept = tuple(members for number, members in enumerate(unique) if number not in covered)
        return self._bounded(kept, listed)

    def tags(self, members: Members) -> Tags:
        """Required names of an alternative whose values are few scalars, which tell most alternatives apart."""
        found = self._tags.get(members)
        if found is None:
            found = self._tags[members] = member_shapes.tags_of(self, members)
        return found

    # -- finite sets ----------------------------------------------------------------------------------------------

    def scalars(self, term: Term, limit: int) -> list[Shape] | None:
        """The values of a term as shapes of one value each, if they are at most `limit` scalars.

        None if they are not, or if it takes too long to tell.
        """
        key = (term, limit)
        if key in self._scalars:
            return self._scalars[key]
        if self._level >= _MAX_LOOK:
            return None
        self._begin_look()
        try:
            shape = self.shape(term)
        except (_Unfinished, TooLarge, Circular):
            return None
        finally:
            self._level -= 1
        found = self._scalars[key] = self._scalars_of(shape, limit)
        return found

    def _scalars_of(self, shape: Shape, limit: int) -> list[Shape] | None:
        if shape.arrays or shape.objects or not isinstance(shape.strings, Words):
            return None
        numbers = shape.numbers.finite(limit)
        if numbers is None:
            return None
        values = [replace(VOID, null=True)] if shape.null else []
        values += [replace(VOID, booleans=frozenset((value,))) for value in sorted(shape.booleans)]
        for number in numbers:
            values.append(replace(VOID, numbers=points((number,))))
        values += [replace(VOID, strings=Words(frozenset((text,)))) for text in sorted(shape.strings.words)]
        return values if len(values) <= limit else None
