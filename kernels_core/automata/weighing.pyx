"""What a node would take if it were spelt out, and what can be said of it without any automaton.

Questions that `lower.py` asks, some of them for every call in a grammar, before it decides what is spelt out.  Rules
that a node calls are asked after at the `Lowering`, which remembers.

Read on: `lower.py` (decides), `nfa.pyx` (does it).
"""

from libc.stdint cimport int64_t

from kernels_core.grammar.tree cimport (
    ByteSet, CharSet, Choice, Empty, Literal, Never, Repeat, RuleRef, Seq, TagDispatch, TokenSet, children,
)

from kernels_core.automata.utf8 import utf8_sequences

__all__ = ["class_widths", "ends_in_a_loop", "may_be_empty", "spelling_cost"]

cdef int DEEPEST = 400       # nesting up to which a body is looked into


def spelling_cost(node, lowering, int limit):
    """Byte edges that `node` takes when it is spelt out; -1 past `limit`, or where it calls a rule that is not."""
    return cost_of(node, lowering, limit, 0)


cdef int cost_of(node, lowering, int limit, int depth) except -2:
    cdef int total = 0, below
    kind = type(node)
    if depth > DEEPEST:
        return -1
    if kind is Literal:
        total = <int>len((<Literal>node).value)
    elif kind is CharSet:
        for sequence in utf8_sequences((<CharSet>node).ranges):
            total += <int>len(sequence)
    elif kind is RuleRef:
        return lowering.inline_cost((<RuleRef>node).name)
    elif kind is Seq or kind is Choice:
        for item in node.items:
            below = cost_of(item, lowering, limit - total, depth + 1)
            if below < 0:
                return -1
            total += below
            if total > limit:
                return -1
    elif kind is Repeat:
        # Whether laps are copied does not depend on the room that is left here.
        below = cost_of(node.item, lowering, max(limit, <int>lowering.options.unroll_limit), depth + 1)
        total = lowering.repeat_cost(node, below)
        if total < 0:
            return -1
    elif kind is TagDispatch:
        return -1
    else:
        total = 1
    return total if total <= limit else -1


def class_widths(body, dict inlined):
    """The widest character class inside a repetition of `body`, and the widest anywhere, in code points.

    `inlined` has the widest classes of rules that are spelt out in `body`, by name.
    """
    cdef list stack = [(body, False)]
    cdef int64_t looped = 0, widest = 0, width
    cdef bint in_loop, in_item
    cdef Repeat repeated
    while stack:
        node, in_loop = <tuple>stack.pop()
        kind = type(node)
        width = 0
        if kind is CharSet or kind is ByteSet:
            for first, last in (<CharSet>node).ranges if kind is CharSet else (<ByteSet>node).ranges:
                width += last - first + 1
        elif kind is Seq or kind is Choice:
            for item in children(node):
                if type(item) is not Literal:
                    stack.append((item, in_loop))
        elif kind is Repeat:
            repeated = <Repeat>node
            in_item = in_loop or repeated.maximum is None or repeated.maximum > 1
            stack.append((repeated.item, in_item))
        elif kind is RuleRef:
            width = inlined.get((<RuleRef>node).name, 0)     # a rule that is called keeps its loops to itself
        widest = max(widest, width)
        if in_loop:
            looped = max(looped, width)
    return looped, widest


def ends_in_a_loop(body, lowering):
    """Whether a text of `body` may go on where it could have ended: `[a-z]*` may, a quoted string may not."""
    cdef list stack = [body]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Seq:
            for item in reversed((<Seq>node).items):
                stack.append(item)
                if not lowering.node_can_be_empty(item):
                    break
        elif kind is Choice:
            stack += (<Choice>node).items
        elif kind is Repeat:
            if node.maximum is None or node.maximum > 1:
                return True
            stack.append(node.item)
        elif kind is RuleRef:
            stack.append(lowering.ir.rules[node.name].body)
    return False


def may_be_empty(node, lowering):
    """Whether `node` matches the empty string: 1 or 0, or -1 if that depends on a rule that is being looked at."""
    return _empty(node, lowering, 0)


cdef int _empty(node, lowering, int depth) except -2:
    cdef int below, found
    kind = type(node)
    if depth > DEEPEST:
        return -1
    if kind is Literal or kind is CharSet or kind is ByteSet or kind is Never or kind is TokenSet:
        return 0
    if kind is Empty:
        return 1
    if kind is RuleRef:
        return lowering.emptiness(node.name)
    if kind is Repeat:
        return 1 if node.minimum == 0 or node.maximum == 0 else _empty(node.item, lowering, depth + 1)
    if kind is TagDispatch:
        return not node.stops
    found = kind is Seq         # a sequence needs all its items, a choice one
    for item in node.items:
        below = _empty(item, lowering, depth + 1)
        if below == (kind is Choice):
            return below
        if below < 0:
            found = -1
    return found
