"""`%ignore`: what is ignored may stand between any two terminals; before the first and after the last where asked for.

Every rule is written twice: once as it stands inside a text (a skip in front of every terminal), and once as it stands
at the beginning (no skip in front of its first terminal).  The second is a derivative in spirit: of `x y` it is the
beginning of `x` and then `y`, or, where x may have no terminals at all, the beginning of `y`.

Read on: `lower.py` (who calls this).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..analysis import nullable_rules
from ..ir import Choice, Empty, GrammarIR, Never, Node, Repeat, Rule, RuleRef, Seq, walk
from ..nodes import choice, fold, repeat, seq

_WRITTEN_OUT = 8


@dataclass(frozen=True, slots=True)
class _Forms:
    """A node at the beginning of a text (at least one terminal), inside it, and whether it may have no terminal."""

    first: Node
    inside: Node
    nullable: bool


def with_skips(
    bodies: Mapping[str, Node],
    start: str,
    skip: Node,
    unnamed: Mapping[str, Node],
    reserve: Callable[[str], str],
    *,
    initially: bool,
    finally_: bool,
) -> tuple[dict[str, Node], str]:
    """Rules whose calls that are not in `bodies` are terminals, with `skip` between terminals; and their start.

    What is called by a name of `unnamed` is put in its place.  New rules are named by `reserve`.  `initially`: `skip`
    may stand at the very beginning, too; `finally_`: behind the last terminal.  A text without terminals stays empty.
    """
    calls = {node.name for body in bodies.values() for node in walk(body) if isinstance(node, RuleRef)}
    # A terminal counts as one even where it matches the empty text.
    rules = {name: Rule(name, body) for name, body in bodies.items()}
    nullable = nullable_rules(GrammarIR(rules, start), dict.fromkeys(calls - bodies.keys(), False))
    firsts = {name: reserve(f"{name}.first") for name in bodies}

    made: dict[str, Node] = {}

    def beginnings(items: list[_Forms]) -> list[Node]:
        """The ways to begin a sequence: with its first item, or the second where the first may be left out, ..."""
        count = next((i + 1 for i, item in enumerate(items) if not item.nullable), len(items))
        behind: Node = seq([item.inside for item in items[count:]])
        ways: list[Node] = []
        for i in range(count - 1, -1, -1):
            ways.append(seq((items[i].first, behind)))
            behind = seq((items[i].inside, behind))
            if i and i % _WRITTEN_OUT == 0:  # a rule, lest the ways be quadratic in the sequence
                name = reserve(f"{start}.tail")
                made[name] = behind
                behind = RuleRef(name)
        return ways[::-1]

    def combine(node: Node, below: list[_Forms]) -> _Forms:
        match node:
            case RuleRef(name) if name in bodies:
                return _Forms(RuleRef(firsts[name]), RuleRef(name), name in nullable)
            case Empty():
                return _Forms(Never(), node, True)
            case Never():
                return _Forms(node, node, False)
            case Seq():
                inside = seq([item.inside for item in below])
                return _Forms(choice(beginnings(below)), inside, all(item.nullable for item in below))
            case Choice():
                return _Forms(
                    choice([item.first for item in below]),
                    choice([item.inside for item in below]),
                    any(item.nullable for item in below),
                )
            case Repeat(_, least, most):
                (item,) = below
                more = repeat(item.inside, max(0, least - 1), None if most is None else most - 1)
                inside = repeat(item.inside, least, most)
                first = item.first if most == 1 else seq((item.first, more))  # as it is, so that it keeps its span
                return _Forms(first, inside, least == 0 or item.nullable)
            case RuleRef(name) if name in unnamed:
                return _Forms(unnamed[name], seq((skip, unnamed[name])), False)
            case _:
                return _Forms(node, seq((skip, node)), False)

    for name, body in bodies.items():
        forms = fold(body, combine)
        made[name] = forms.inside
        made[firsts[name]] = forms.first
    root: Node = RuleRef(firsts[start])
    if initially:
        root = seq((skip, root))
    if finally_:
        root = seq((root, skip))
    top = reserve(f"{start}.text")
    made[top] = repeat(root, 0, 1) if start in nullable else root
    return made, top
