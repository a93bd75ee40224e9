"""Dotted rules as text: `pair ::= string • ":" value`, the way every text on Earley parsing writes an item.

Of a rule only the surroundings of its dot are printed, so a dotted rule costs the same however long the rule is.

A rule of a schema may be lowered from a compact body (`grammar/compact_body.pyx`), which says in few words what its
body would say in many; its states are then in no body, and `dots_inside` says where they stand.

Read on: `layout.py` (which asks, and keeps what was printed).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernels_core.automata.compact_bodies import FIRST_STATE, prefix_at
from kernels_core.automata.inlining import LoweredRule
from kernels_core.automata.lower import AFTER, Position
from kernels_core.grammar.compact_body import CompactBody, ExcludedWords, ListedWords
from kernels_core.grammar.ir import (
    Choice,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    RuleRef,
    Seq,
    TagDispatch,
    Unordered,
    children,
)
from kernels_core.grammar.printer import print_node

DOT = "•"
CONTEXT = 60  # characters kept on each side of the dot when a rule is long
_ELSE = RuleRef("…")
_HERE = "\0"  # stands for the dot while a rule is printed: no name and no literal prints like it
_ROOM = CONTEXT + 3
_LONGEST = 4 * _ROOM  # bytes of a literal: a character has four at most
FREE_TEXT = "free\N{NO-BREAK SPACE}text"  # two rules side by side have another space in between
_TAGS = 3  # that are named
_WORDS = 12  # that are listed
_START, _FINAL = 0, 1  # of any NFA


def dotted_rule(ir: GrammarIR, position: Position) -> str:
    """The rule of `position` with a dot at it; long rules are cut to the surroundings of the dot."""
    return around_dot(position.rule, ir.expand(position.rule).body, position.path, position.offset)


def around_dot(name: str, body: Node, path: tuple[int, ...], offset: int) -> str:
    """`name ::= body` with a dot `offset` bytes into the node at `path`, before it (0) or behind it (`AFTER`)."""
    return _cut(name, _joined(_mark(body, path, offset)))


def _between(name: str, left: Sequence[Node], right: Sequence[Node]) -> str:
    """`name ::= left • right`, for what stands in no body."""
    before, _ = _nearest(left, _ROOM, backwards=True)
    after, _ = _nearest(right, _ROOM)
    return _cut(name, _joined((*before, RuleRef(_HERE), *after)))


def dots_inside(rule: LoweredRule, compact: CompactBody, member: int) -> Iterator[str]:
    """The dotted rules of an NFA state of `rule`, which was lowered from `compact`."""
    name = rule.source
    if isinstance(compact, ExcludedWords | ListedWords):
        assert rule.nfa is not None  # it was spelt out: it has states
        prefix = prefix_at(rule.nfa, member)
        if prefix is not None:
            known = [Literal(prefix)] if prefix else []
            words = [word for word in sorted(compact.words) if word.startswith(prefix)]
            shown = ", ".join(repr(word.decode(errors="replace")) for word in words[:_WORDS])
            what = "none" if isinstance(compact, ExcludedWords) else "one"
            yield _between(name, known, [_ELSE]) + (f" ({what} of {shown})" if words else "")
        return
    if member == _FINAL:
        yield _between(name, [_ELSE], [])
    state = member - FIRST_STATE
    labels = list(dict.fromkeys(label for source, label, _ in compact.edges if source == state))
    labels += [compact.closing] * (state in compact.accepting) + [compact.opening] * (member == _START)
    if labels:
        yield _between(name, [_ELSE], [labels[0] if len(labels) == 1 else Choice(tuple(labels)), _ELSE])


def _cut(name: str, marked: Node) -> str:
    text = print_node(marked)
    at = text.index(_HERE)
    left, right = text[:at], text[at + 1 :]
    if len(left) > CONTEXT:
        left = "… " + left[-CONTEXT:]
    if len(right) > CONTEXT:
        right = right[:CONTEXT] + " …"
    return f"{name} ::= {left}{DOT}{right}".rstrip()


def _mark(node: Node, path: tuple[int, ...], offset: int) -> tuple[Node, ...]:
    """What is around a place in `node`, as a sequence, with a call of `_HERE` put in at it.

    Of a choice only the alternative with the dot is kept, as in an item of the textbook; within a repetition all are,
    for the next iteration may take another.  Iterative along `path`.
    """
    chain = [node]
    for step in path:
        chain.append(children(chain[-1])[step])
    here: tuple[Node, ...]
    dot = RuleRef(_HERE)
    target = chain.pop()
    left = right = _ROOM  # characters that there is room for on each side of the dot
    if offset == AFTER:
        items = target.items if isinstance(target, Seq) else (target,)
        kept, left = _nearest(items, left, backwards=True)
        here = (*kept, dot)
    elif isinstance(target, Literal) and offset:
        before, after = target.value[:offset], target.value[offset:]
        here = (Literal(before[-_LONGEST:]), dot, Literal(after[:_LONGEST]))
        left, right = left - len(before) // 4, right - len(after) // 4
    else:
        kept, right = _nearest((target,), right)
        here = (dot, *kept)
    # Going up, a sequence takes the marked pieces in between its items, anything else holds them as a sequence.
    once = next((depth for depth, parent in enumerate(chain) if isinstance(parent, Repeat)), len(chain))
    for depth, (parent, step) in reversed(list(enumerate(zip(chain, path, strict=True)))):
        if isinstance(parent, Choice) and depth < once:
            continue
        below = children(parent)
        if isinstance(parent, Unordered):  # of the other members nothing is shown: any of them may come
            below, step = _member_around(parent, step)
        before_it, left = _nearest(below[:step], left, backwards=True)
        after_it, right = _nearest(below[step + 1 :], right)
        match parent:
            case Seq():
                here = (*before_it, *here, *after_it)
            case Unordered():
                here = (_ELSE, *before_it, *here, *after_it, _ELSE)
            case Choice():
                here = (Choice((*before_it, _joined(here), *after_it)),)
            case Repeat(_, minimum, maximum):
                here = (Repeat(_joined(here), minimum, maximum),)
            case TagDispatch(tags):
                here = (RuleRef(FREE_TEXT), Literal(tags[step]), *here)
    return here


def _member_around(members: Unordered, step: int) -> tuple[tuple[Node, ...], int]:
    """The key and the value of the member that child number `step` is a part of, and which of them that is; of a
    separator itself and the keys that may follow."""
    here = children(members)[step]
    for keys, values in ((members.keys, members.values), (members.other_keys, members.other_values)):
        if step < len(keys):
            return (here, *(() if members.needs else values[step : step + 1])), 0
        step -= len(keys)
        if step < len(values):
            return (here,) if members.needs else (keys[step], here), int(not members.needs)
        step -= len(values)
    keys = members.keys + members.other_keys
    return (here, *((keys[0] if len(keys) == 1 else Choice(keys),) if here is members.separator else ())), 0


def _nearest(items: Sequence[Node], room: int, *, backwards: bool = False) -> tuple[tuple[Node, ...], int]:
    """The first (or last) of `items`, shortened, as far as they are needed to fill `room`; and what room is left."""
    kept: list[Node] = []
    for item in reversed(items) if backwards else items:
        if room <= 0:
            break
        short, size = _shortened(item, room, backwards)
        kept.append(short)
        room -= size + 1
    return tuple(reversed(kept) if backwards else kept), room


def _shortened(node: Node, room: int, backwards: bool) -> tuple[Node, int]:
    """`node` without what does not fit into `room` at its end (or beginning), and the least that it takes printed."""
    match node:
        case Literal(value):
            kept = value[-_LONGEST:] if backwards else value[:_LONGEST]
            return Literal(kept), len(kept) // 4 + 2
        case RuleRef(name):
            return node, len(name)
        case Seq(items) | Choice(items):
            few, left = _nearest(items, room - 1, backwards=backwards)
            if not few:
                return _ELSE, room
            return (type(node)(few) if len(few) > 1 else few[0]), room - left
        case Repeat(item, minimum, maximum):
            short, size = _shortened(item, room - 1, backwards)
            return Repeat(short, minimum, maximum), size + 1
        case TagDispatch(tags, _, _, _, stops):
            said = _free_text(tags + stops)
            return RuleRef(said), len(said)
        case Unordered():
            return _ELSE, 1
    return node, 2


def _free_text(ends: tuple[bytes, ...]) -> str:
    """What a person calls free text that goes on until one of `ends`: of a call of it, that is all there is to see."""
    shown = " or ".join(print_node(Literal(end[:_LONGEST])) for end in ends[:_TAGS])
    more = f" or {len(ends) - _TAGS} more" if len(ends) > _TAGS else ""
    return f"{FREE_TEXT} until {shown}{more}" if ends else FREE_TEXT


def _joined(nodes: tuple[Node, ...]) -> Node:
    return nodes[0] if len(nodes) == 1 else Seq(nodes)
