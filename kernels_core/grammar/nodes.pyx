"""Smart constructors for the IR: they keep every node in one normal form, so that equal spellings are equal nodes.

The normal form: sequences and choices are flat and have two or more items; adjacent literals are one literal; a set
of one value is a literal, a byte set inside ASCII is a character set; `x | ""` is `x?`; repeats of repeats are one
repeat where the counts allow; the empty language swallows a sequence and leaves a choice.  Constructors keep the
order of alternatives and drop only alternatives that are equal *leaves* (comparing whole trees at every level would
cost quadratic time, and the automata merge them anyway).

Nothing here recurses: `fold` is the loop that other passes use instead of recursion.

Read on: `ir.py` (the nodes), `ebnf.py` and `regex.py` (who builds them), `analysis.py` (what is computed on them).
"""

from kernels_core.clock cimport rest
from kernels_core.grammar.tree cimport (
    ByteSet, CharSet, Choice, Empty, Literal, Never, Node, Repeat, RuleRef, Seq, Span, TagDispatch, TokenSet, Unordered,
    children,
)

from kernels_core.grammar import charset

# Largest bound of a counted repeat: counters are signed 32-bit numbers in the engine.
MAX_REPEAT = 2**31 - 1


cpdef Node literal(bytes value, span=None):
    """A fixed byte string; `b""` is `Empty`."""
    return Literal(value, span=span) if value else Empty(span=span)


def char_set(tuple ranges, span=None):
    """One code point out of `ranges` (as `charset.normalise` makes them)."""
    ranges = charset.canonical(ranges)
    if not ranges:
        return Never(span=span)
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return Literal(chr(ranges[0][0]).encode(), span=span)
    return CharSet(ranges, span=span)


def byte_set(tuple ranges, span=None):
    """One byte out of `ranges` (0..255)."""
    if not ranges:
        return Never(span=span)
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return Literal(bytes([ranges[0][0]]), span=span)
    return CharSet(ranges, span=span) if ranges[-1][1] < 0x80 else ByteSet(ranges, span=span)


cpdef Node seq(items, span=None):
    """Concatenation of `items` (already in normal form)."""
    cdef list flat = [], fused = []
    cdef Py_ssize_t first = 0, past
    for item in items:
        kind = type(item)
        if kind is Empty:
            continue
        if kind is Never:
            return Never(span=span)
        if kind is Seq:
            flat.extend((<Seq>item).items)
        else:
            flat.append(item)
    while first < len(flat):
        past = first + 1
        if type(flat[first]) is Literal:
            while past < len(flat) and type(flat[past]) is Literal:
                past += 1
        fused.append(flat[first] if past == first + 1 else _fuse(flat[first:past]))
        first = past
    if not fused:
        return Empty(span=span)
    return fused[0] if len(fused) == 1 else Seq(tuple(fused), span=span)


cdef Literal _fuse(list run):
    cdef Span first = (<Node>run[0]).span, last = (<Node>run[-1]).span
    span = Span(first.start, last.end) if first is not None and last is not None else None
    return Literal(b"".join([(<Literal>item).value for item in run]), span=span)


cpdef Node choice(items, span=None):
    """Union of `items` (already in normal form)."""
    cdef list flat = []
    cdef set seen = set()
    cdef bint optional = False
    for outer in items:
        for item in (<Choice>outer).items if type(outer) is Choice else (outer,):
            kind = type(item)
            if kind is Never:
                continue
            if kind is Empty:
                optional = True
                continue
            if kind is Literal or kind is CharSet or kind is ByteSet or kind is RuleRef:
                if item in seen:
                    continue
                seen.add(item)
            flat.append(item)
    if not flat:
        return Empty(span=span) if optional else Never(span=span)
    body = flat[0] if len(flat) == 1 else Choice(tuple(flat), span=span)
    return repeat(body, 0, 1, span) if optional else body


cpdef Node repeat(Node item, minimum, maximum, span=None):
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


cdef _product(inner, outer):
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


def fold(node, combine):
    """Bottom-up value of a tree: `combine(node, values of its children, left to right)`.

    A loop with its own stack, so that the depth of a grammar is not limited by Python's.
    """
    cdef list values = [], stack = [(node, False)]
    cdef Py_ssize_t first
    while stack:
        rest(4)
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


def tag_dispatch(tuple tags, tuple contents, bint loop, tuple excludes, span=None, *, tuple stops=()):
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


def unordered(members, others, Node separator not None, Node closing not None, least=0, most=None, span=None, needs=0):
    """Members in any order.  `members` are (key, value, required), `others` (key, value); see `Unordered`.

    With `needs` each of them ends in the needs that it meets, a bit for each, and several in a row that have equal keys
    are one member with several values.  A member without any text is left out; where one is required that has none,
    there is no text at all.
    """
    cdef list kept = [], others_kept = [], options = [], required = []
    for member in members:
        if not kept or not needs or type(member[0]) is Never or member[0] != kept[len(kept) - 1][0]:
            kept.append((member[0], []))
            required.append(bool(member[2]))
            options.append([])
        if type(member[0]) is not Never and type(member[1]) is not Never:
            kept[len(kept) - 1][1].append(member[1])
            options[len(options) - 1].append(member[3] if needs else 0)
    if any([must and not values for must, (_, values) in zip(required, kept)]):
        return Never(span=span)
    required = [must for must, (_, values) in zip(required, kept) if values]
    options = [meets for meets in options if meets]
    kept = [member for member in kept if member[1]]
    for other in others:
        if type(other[0]) is Never or type(other[1]) is Never:
            continue
        if not others_kept or not needs or other[0] != others_kept[len(others_kept) - 1][0]:
            others_kept.append((other[0], []))
            options.append([])
        others_kept[len(others_kept) - 1][1].append(other[1])
        options[len(options) - 1].append(other[2] if needs else 0)
    needed = max(1, least, sum(required))
    if type(separator) is Never or type(closing) is Never or not kept and not others_kept:
        return Never(span=span)
    if most is not None and most < needed or not others_kept and len(kept) < needed:
        return Never(span=span)
    return Unordered(
        tuple([key for key, _ in kept]),
        tuple([value for _, values in kept for value in values]),
        tuple(required),
        tuple([key for key, _ in others_kept]),
        tuple([value for _, values in others_kept for value in values]),
        separator,
        closing,
        least,
        most,
        tuple([tuple(meets) for meets in options]) if needs else (),
        needs,
        span=span,
    )


def token_set(ids, bint negated=False, span=None):
    """One token out of `ids`, or with `negated` one that is not in it."""
    ids = tuple(sorted(set(ids)))
    return TokenSet(ids, negated, span=span) if ids or negated else Never(span=span)


def token_dispatch(switches, watched, bint loop, span=None):
    """Free tokens, none of `watched`, and `switches` between them (each begins with a watched token).

    Without `loop` a switch is the end.
    """
    free = token_set(watched, negated=True)
    if loop:
        return repeat(choice((free, *switches)), 0, None, span)
    return seq((repeat(free, 0, None), repeat(choice(switches), 0, 1)), span)


def rebuild(Node node, list below):
    """`node` with other children, in normal form; for use with `fold`."""
    kind = type(node)
    if kind is Seq:
        return seq(below, node.span)
    if kind is Choice:
        return choice(below, node.span)
    if kind is Repeat:
        return repeat(below[0], (<Repeat>node).minimum, (<Repeat>node).maximum, node.span)
    if kind is TagDispatch:
        return tag_dispatch(node.tags, tuple(below), node.loop, node.excludes, node.span, stops=node.stops)
    if kind is Unordered:
        count, more, values = len(node.keys), len(node.other_keys), len(node.values)
        made = Unordered(
            tuple(below[:count]), tuple(below[count:count + values]), node.required,
            tuple(below[count + values:count + values + more]), tuple(below[count + values + more:-2]),
            below[-2], below[-1], node.least, node.most, node.options, node.needs)
        members, others = made.entries()
        return unordered(
            members, [(key, value, meets) for key, value, _, meets in others], below[-2], below[-1], node.least,
            node.most, node.span, node.needs)
    if kind is Literal:
        return node if (<Literal>node).value else Empty(span=node.span)
    if kind is CharSet:
        return char_set(charset.normalise((<CharSet>node).ranges), node.span)
    if kind is ByteSet:
        return byte_set(charset.normalise((<ByteSet>node).ranges), node.span)
    return node
