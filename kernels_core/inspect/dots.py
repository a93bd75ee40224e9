"""Dotted rules as text: `pair ::= string • ":" value`, the way every text on Earley parsing writes an item."""

from __future__ import annotations

from kernels_core.automata.lower import AFTER, Position
from kernels_core.grammar.ir import Choice, GrammarIR, Literal, Node, Repeat, RuleRef, Seq, TagDispatch, children
from kernels_core.grammar.printer import print_node

__all__ = ["DOT", "dotted_rule"]

DOT = "•"
_CONTEXT = 60  # characters kept on each side of the dot when a rule is long


def dotted_rule(ir: GrammarIR, position: Position) -> str:
    """The rule of `position` with a dot at it; long rules are cut to the surroundings of the dot."""
    marked = _mark(ir.expand(position.rule).body, position.path, position.offset)
    text = print_node(marked)
    at = text.index(DOT)
    left, right = text[:at], text[at + 1 :]
    if len(left) > _CONTEXT:
        left = "… " + left[-_CONTEXT:]
    if len(right) > _CONTEXT:
        right = right[:_CONTEXT] + " …"
    return f"{position.rule} ::= {left}{DOT}{right}".rstrip()


def _mark(node: Node, path: tuple[int, ...], offset: int) -> Node:
    """`node` with a rule call named `•` put in at the place; iterative along `path`."""
    chain = [node]
    for step in path:
        chain.append(children(chain[-1])[step])
    here: tuple[Node, ...]
    dot = RuleRef(DOT)
    target = chain.pop()
    if offset == AFTER:
        here = (*target.items, dot) if isinstance(target, Seq) else (target, dot)
    elif isinstance(target, Literal) and offset:
        here = (Literal(target.value[:offset]), dot, Literal(target.value[offset:]))
    else:
        here = (dot, target)
    # Going up, a sequence takes the marked pieces in between its items, anything else holds them as a sequence.
    for parent, step in zip(reversed(chain), reversed(path), strict=True):
        match parent:
            case Seq(items):
                here = (*items[:step], *here, *items[step + 1 :])
            case Choice(items):
                here = (Choice((*items[:step], _joined(here), *items[step + 1 :])),)
            case Repeat(_, minimum, maximum):
                here = (Repeat(_joined(here), minimum, maximum),)
            case TagDispatch(contents=contents):
                marked = (*contents[:step], _joined(here), *contents[step + 1 :])
                here = (TagDispatch(parent.tags, marked, parent.loop, parent.excludes, parent.stops),)
    return _joined(here)


def _joined(nodes: tuple[Node, ...]) -> Node:
    return nodes[0] if len(nodes) == 1 else Seq(nodes)
