"""One alternative of an array shape: normal form, intersection, complement.

The normal form: a count that speaks of one position is a rule for that position; a count of everything is a length;
"none of these" is a rule; the prefix ends where it says no more than `rest`.

Read on: `shapes.py` (what `Items` means), `schema_algebra.py`, `arrays.py` (its text).
"""

from __future__ import annotations

from .shapes import ANY_ITEMS, Count, Items, TermAlgebra, replace
from .terms import FALSE, TRUE, AllOf, Term, narrows

# "None from position 50 on" is written out as a prefix of 50 positions, but not of thousands.
_MAX_PREFIX = 1_000


def meet(algebra: TermAlgebra, left: Items, right: Items) -> Items | None:
    """Arrays of both; None if there is certainly none."""
    if left == right:
        return left
    if left.unique is not None and right.unique is not None and left.unique != right.unique:
        return None
    size = max(len(left.prefix), len(right.prefix))
    most = left.most if right.most is None else right.most if left.most is None else min(left.most, right.most)
    both = Items(
        tuple(algebra.all_of(left.at(i), right.at(i)) for i in range(size)),
        algebra.all_of(left.rest, right.rest),
        tuple(dict.fromkeys(left.counts + right.counts)),
        max(left.least, right.least),
        most,
        right.unique if left.unique is None else left.unique,
        place=right.place if left.unique is None else left.place,
    )
    return normal(algebra, both)


def normal(algebra: TermAlgebra, items: Items) -> Items | None:
    """The normal form; None if there is certainly no such array."""
    prefix, rest, least, most = list(items.prefix), items.rest, items.least, items.most
    counts: list[Count] = []
    for count in items.counts:
        if count.most is not None and count.most < count.least:
            return None
        cells = tuple(
            (start, stop, term)
            for start, stop, term in count.cells
            if term is not FALSE and (most is None or start < most)
        )
        if not cells:
            if count.least:
                return None
            continue
        start, stop, term = cells[0]
        single = len(cells) == 1
        if count.most == 0 and all(max(start, stop or 0) <= _MAX_PREFIX for start, stop, _ in cells):
            for start, stop, term in cells:
                prefix, rest = _forbid(algebra, prefix, rest, start, stop, term)
        elif single and stop == start + 1 and count.least == 1 and start < _MAX_PREFIX:
            prefix += [rest] * (start + 1 - len(prefix))
            prefix[start] = algebra.all_of(prefix[start], term)
            least = max(least, start + 1)
        elif single and stop is not None and stop - start < count.least:
            return None
        elif single and stop is None and term is TRUE:
            if count.least:
                least = max(least, start + count.least)
            if count.most is not None:
                most = start + count.most if most is None else min(most, start + count.most)
        elif count.least or count.most is not None:
            counts.append(replace(count, cells=cells))
    if rest is FALSE:
        most = len(prefix) if most is None else min(most, len(prefix))
    for i, term in enumerate(prefix):
        if term is FALSE:
            most = i if most is None else min(most, i)
            break
    if most is not None:
        if most < least:
            return None
        del prefix[most:]
        if most == len(prefix):
            rest = FALSE
    while prefix and prefix[-1] is rest:
        prefix.pop()
    for i in range(min(least, len(prefix) + 1)):
        term = prefix[i] if i < len(prefix) else rest
        if isinstance(term, AllOf) and algebra.is_void(term):
            return None
    unique = items.unique
    if unique is not None and most is not None and most <= 1:
        if not unique:
            return None
        unique = None
    for count in counts:
        if count.least and all(_no_room(algebra, prefix, rest, cell) for cell in count.cells):
            return None
    made = Items(tuple(prefix), rest, tuple(counts), least, most, unique, place=items.place)
    return ANY_ITEMS if made == ANY_ITEMS else made


def _forbid(
    algebra: TermAlgebra, prefix: list[Term], rest: Term, start: int, stop: int | None, term: Term
) -> tuple[list[Term], Term]:
    """No item of `term` from `start` up to `stop`."""
    end = start if stop is None else stop
    prefix = prefix + [rest] * (end - len(prefix))
    refused = algebra.negate(term)
    for i in range(start, len(prefix) if stop is None else stop):
        prefix[i] = algebra.all_of(prefix[i], refused)
    return prefix, algebra.all_of(rest, refused) if stop is None else rest


def _no_room(algebra: TermAlgebra, prefix: list[Term], rest: Term, cell: tuple[int, int | None, Term]) -> bool:
    start, stop, term = cell
    terms = prefix[start:stop]
    if stop is None or stop > len(prefix):
        terms = [*terms, rest]
    for other in terms:
        inside = algebra.all_of(other, term)
        if inside is not FALSE and not (isinstance(inside, AllOf) and algebra.is_void(inside)):
            return False
    return True


def complement(algebra: TermAlgebra, items: Items) -> tuple[Items, ...]:
    """All other arrays, as alternatives."""
    pieces: list[Items] = []
    cells = [(i, i + 1, algebra.negate(term)) for i, term in enumerate(items.prefix) if term is not TRUE]
    everything = [*cells, (len(items.prefix), None, algebra.negate(items.rest))]
    if items.rest is not TRUE or cells:
        pieces.append(Items(counts=(Count(tuple(cell for cell in everything if cell[2] is not FALSE), 1, None),)))
    for count in items.counts:
        if count.least:
            pieces.append(Items(counts=(Count(count.cells, 0, count.least - 1),)))
        if count.most is not None:
            pieces.append(Items(counts=(Count(count.cells, count.most + 1, None),)))
    if items.least:
        pieces.append(Items(most=items.least - 1))
    if items.most is not None:
        pieces.append(Items(least=items.most + 1))
    if items.unique is not None:
        pieces.append(Items(unique=not items.unique, place=items.place))
    found = (normal(algebra, piece) for piece in pieces)
    return tuple(piece for piece in found if piece is not None)


def covers(large: Items, small: Items) -> bool:
    """Certainly a superset: every condition of `large` is one of `small`."""
    if large.least > small.least:
        return False
    if large.most is not None and (small.most is None or small.most > large.most):
        return False
    if large.unique is not None and large.unique != small.unique:
        return False
    size = max(len(large.prefix), len(small.prefix))
    if any(not narrows(small.at(i), large.at(i)) for i in range(size)):
        return False
    return narrows(small.rest, large.rest) and set(large.counts) <= set(small.counts)
