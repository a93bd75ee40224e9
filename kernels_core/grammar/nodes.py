"""Smart constructors for the IR: they keep every node in one normal form, so that equal spellings are equal nodes.

The normal form: sequences and choices are flat and have two or more items; adjacent literals are one literal; a set
of one value is a literal, a byte set inside ASCII is a character set; `x | ""` is `x?`; repeats of repeats are one
repeat where the counts allow; the empty language swallows a sequence and leaves a choice.  Constructors keep the
order of alternatives and drop only alternatives that are equal *leaves* (comparing whole trees at every level would
cost quadratic time, and the automata merge them anyway).

Nothing here recurses: `fold` is the loop that other passes use instead of recursion.

Read on: `ir.py` (the nodes), `ebnf.py` and `regex.py` (who builds them), `analysis.py` (what is computed on them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from . import charset
from .ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    Literal,
    Never,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Span,
    TagDispatch,
    TokenSet,
    children,
)

__all__ = [
    "MAX_REPEAT",
    "byte_set",
    "char_set",
    "choice",
    "fold",
    "literal",
    "rebuild",
    "repeat",
    "seq",
    "tag_dispatch",
    "token_dispatch",
    "token_set",
]

T = TypeVar("T")

# Largest bound of a counted repeat: counters are signed 32-bit numbers in the engine.
MAX_REPEAT = 2**31 - 1


def literal(value: bytes, span: Span | None = None) -> Node:
    """A fixed byte string; `b""` is `Empty`."""
    return Literal(value, span=span) if value else Empty(span=span)


def char_set(ranges: charset.Ranges, span: Span | None = None) -> Node:
    """One code point out of `ranges` (as `charset.normalise` makes them)."""
    ranges = charset.canonical(ranges)
    if not ranges:
        return Never(span=span)
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return Literal(chr(ranges[0][0]).encode(), span=span)
    return CharSet(ranges, span=span)


def byte_set(ranges: charset.Ranges, span: Span | None = None) -> Node:
    """One byte out of `ranges` (0..255)."""
    if not ranges:
        return Never(span=span)
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return Literal(bytes([ranges[0][0]]), span=span)
    return CharSet(ranges, span=span) if ranges[-1][1] < 0x80 else ByteSet(ranges, span=span)


def seq(items: Iterable[Node], span: Span | None = None) -> Node:
    """Concatenation of `items` (already in normal form)."""
    flat: list[Node] = []
    for item in items:
        kind = type(item)
        if kind is Empty:
            continue
        if kind is Never:
            return Never(span=span)
        flat.extend(item.items if isinstance(item, Seq) else (item,))
    fused: list[Node] = []
    run: list[Literal] = []
    for item in flat:
        if isinstance(item, Literal):
            run.append(item)
        else:
            if run:
                fused.append(_fuse(run))
                run = []
            fused.append(item)
    if run:
        fused.append(_fuse(run))
    if not fused:
        return Empty(span=span)
    return fused[0] if len(fused) == 1 else Seq(tuple(fused), span=span)


def _fuse(run: list[Literal]) -> Literal:
    if len(run) == 1:
        return run[0]
    first, last = run[0].span, run[-1].span
    span = Span(first.start, last.end) if first is not None and last is not None else None
    return Literal(b"".join(item.value for item in run), span=span)


def choice(items: Iterable[Node], span: Span | None = None) -> Node:
    """Union of `items` (already in normal form)."""
    flat: list[Node] = []
    seen: set[Node] = set()
    optional = False
    for outer in items:
        for item in outer.items if isinstance(outer, Choice) else (outer,):
            kind = type(item)
            if kind is Never:
                continue
            if kind is Empty:
                optional = True
                continue
            if isinstance(item, (Literal, CharSet, ByteSet, RuleRef)):
                if item in seen:
                    continue
                seen.add(item)
            flat.append(item)
    if not flat:
        return Empty(span=span) if optional else Never(span=span)
    body = flat[0] if len(flat) == 1 else Choice(tuple(flat), span=span)
    return repeat(body, 0, 1, span) if optional else body


def repeat(item: Node, minimum: int, maximum: int | None, span: Span | None = None) -> Node:
    """`item` from `minimum` to `maximum` times (`None`: no upper bound).

    Bounds stay as written where the item can be empty, too: its language is then that of `0..maximum`, since empty
    rounds fill up the count.
    `ValueError` when the bounds are negative, crossed, or above `MAX_REPEAT`.
    """
    if minimum < 0 or minimum > MAX_REPEAT or (maximum is not None and not minimum <= maximum <= MAX_REPEAT):
        raise ValueError(f"repeat bounds {minimum}..{maximum} are not within 0 <= minimum <= maximum <= {MAX_REPEAT}")
    if isinstance(item, Empty) or maximum == 0:
        return Empty(span=span)
    if isinstance(item, Never):
        return Empty(span=span) if minimum == 0 else Never(span=span)
    if minimum == maximum == 1:
        return item
    if isinstance(item, Repeat):
        bounds = _product((item.minimum, item.maximum), (minimum, maximum))
        if bounds is not None:
            return repeat(item.item, *bounds, span)
    return Repeat(item, minimum, maximum, span=span)


def _product(inner: tuple[int, int | None], outer: tuple[int, int | None]) -> tuple[int, int | None] | None:
    """Bounds of `(x{inner}){outer}` as one repeat, or None where the counts have holes: `(x{2}){0,3}` is 0, 2, 4, 6.

    With k rounds of the outer repeat the counts are k*low..k*high.  Neighbouring k leave no hole when
    (k+1)*low <= k*high + 1; the difference grows with k, so the smallest k decides.
    """
    (low, high), (fewest, most) = inner, outer
    if fewest != most:
        reach = 0 if fewest == 0 else None if high is None else fewest * high
        if reach is not None and (fewest + 1) * low > reach + 1:
            return None
    minimum = low * fewest
    maximum = None if high is None or most is None else high * most
    if minimum > MAX_REPEAT or (maximum is not None and maximum > MAX_REPEAT):
        return None
    return minimum, maximum


def fold(node: Node, combine: Callable[[Node, list[T]], T]) -> T:
    """Bottom-up value of a tree: `combine(node, values of its children, left to right)`.

    A loop with its own stack, so that the depth of a grammar is not limited by Python's.
    """
    values: list[T] = []
    stack: list[tuple[Node, bool]] = [(node, False)]
    while stack:
        top, ready = stack.pop()
        below = children(top)
        if ready or not below:
            first = len(values) - len(below)
            arguments = values[first:]
            del values[first:]
            values.append(combine(top, arguments))
        else:
            stack.append((top, True))
            stack.extend((child, False) for child in reversed(below))
    return values[0]


def tag_dispatch(
    tags: tuple[bytes, ...],
    contents: tuple[Node, ...],
    loop: bool,
    excludes: tuple[bytes, ...],
    span: Span | None = None,
    *,
    stops: tuple[bytes, ...] = (),
) -> Node:
    """Free text with tags.  A tag whose content matches nothing can never be passed: it becomes an exclude."""
    dead = tuple(tag for tag, content in zip(tags, contents, strict=True) if isinstance(content, Never))
    alive = [(tag, content) for tag, content in zip(tags, contents, strict=True) if not isinstance(content, Never)]
    living = {tag for tag, _ in alive}
    return TagDispatch(
        tuple(tag for tag, _ in alive),
        tuple(content for _, content in alive),
        loop,
        tuple(sorted({*excludes, *(tag for tag in dead if tag not in living)})),
        tuple(sorted(set(stops))),
        span=span,
    )


def token_set(ids: Iterable[int], negated: bool = False, span: Span | None = None) -> Node:
    """One token out of `ids`, or with `negated` one that is not in it."""
    ids = tuple(sorted(set(ids)))
    return TokenSet(ids, negated, span=span) if ids or negated else Never(span=span)


def token_dispatch(switches: Iterable[Node], watched: Iterable[int], loop: bool, span: Span | None = None) -> Node:
    """Free tokens, none of `watched`, and `switches` between them (each begins with a watched token).

    Without `loop` a switch is the end.
    """
    free = token_set(watched, negated=True)
    if loop:
        return repeat(choice((free, *switches)), 0, None, span)
    return seq((repeat(free, 0, None), repeat(choice(switches), 0, 1)), span)


def rebuild(node: Node, below: list[Node]) -> Node:
    """`node` with other children, in normal form; for use with `fold`."""
    match node:
        case Seq():
            return seq(below, node.span)
        case Choice():
            return choice(below, node.span)
        case Repeat(_, minimum, maximum):
            return repeat(below[0], minimum, maximum, node.span)
        case TagDispatch():
            return tag_dispatch(node.tags, tuple(below), node.loop, node.excludes, node.span, stops=node.stops)
        case Literal(value):
            return node if value else Empty(span=node.span)
        case CharSet(ranges):
            return char_set(charset.normalise(ranges), node.span)
        case ByteSet(ranges):
            return byte_set(charset.normalise(ranges), node.span)
        case _:
            return node
