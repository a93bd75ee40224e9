"""IR as languages over code points: single nodes, trees with assertions, and whole grammars where they are regular.

A rule that calls itself stays a `Call`, which is unfolded when an automaton is made; that ends for right recursion, as
in `list ::= item list | item`, and is given up for left recursion and for nesting, which are not regular, or not seen
to be.  Raw bytes that are no UTF-8, tokens and free text with tags are no strings of characters, and refused by name.

Read on: `assertions.py`, `to_rules.py` (the way back).
"""

from __future__ import annotations

from typing import NoReturn

from ...errors import UnsupportedFeatureError
from .. import nodes
from ..analysis import components, recursive_rules
from ..ir import (
    RESTRICTIONS,
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    RuleRef,
    Seq,
    TagDispatch,
    Unordered,
)
from .assertions import START, rest
from .languages import EPSILON, NOTHING, Language, TooLarge, character, words
from .tree import (
    Alternatives,
    Call,
    CalledRules,
    Counted,
    InOrder,
    Look,
    Tree,
    alternatives,
    counted,
    in_order,
    is_plain,
)

_NO_RULES = GrammarIR({}, "")


def with_languages(tree: Tree) -> Tree:
    """`tree` with languages for leaves.  Raises `TooManyStates` where they are too large or too deep."""
    if is_plain(tree):
        return _tree(tree, {}, _NO_RULES)
    match tree:
        case InOrder(items):
            return InOrder(tuple(with_languages(item) for item in items))
        case Alternatives(items):
            return Alternatives(tuple(with_languages(item) for item in items))
        case Counted(item, least, most):
            return Counted(with_languages(item), least, most)
        case Look(item, negative):
            return Look(with_languages(item), negative)
        case _:
            return tree


def grammar_language(ir: GrammarIR) -> Language:
    """The texts of a grammar, where it is regular.

    Raises `UnsupportedFeatureError` for what is no string of characters, at its place, and `TooManyStates` where the
    rules are too large, or (when an automaton is made) not regular.
    """
    rules = CalledRules()
    known: dict[str, Tree] = {}
    recursive = recursive_rules(ir)
    for name in recursive:
        known[name] = Call(name, rules)
    # Called rules come before their callers.
    for group in components(ir):
        for name in group:
            rule = ir.rules[name]
            for note in RESTRICTIONS.keys() & {note for note, _ in rule.notes}:
                what = RESTRICTIONS[note]
                reason = f"regular operations work on strings of characters; the rule {name!r} {what} ({note})"
                raise UnsupportedFeatureError(reason, ir.source or None, rule.span.start if rule.span else None)
            body = _tree(ir.rules[name].body, known, ir)
            if name in recursive:
                rules[name] = body
            else:
                known[name] = body
    try:
        return rest((known[ir.root],), EPSILON, START)
    except RecursionError:
        raise TooLarge("rules that are nested less deeply") from None


def _tree(node: Node, known: dict[str, Tree], ir: GrammarIR) -> Tree:
    """`node` as a language, or where it calls recursive rules, as a tree of languages and calls."""

    def combine(node: Node, below: list[Tree]) -> Tree:
        match node:
            case Literal(value):
                try:
                    return words([value.decode()])
                except UnicodeDecodeError:
                    _refuse("raw bytes that are no UTF-8", node, ir)
            case CharSet(ranges):
                return character(ranges)
            case Seq():
                return in_order(below)
            case Choice():
                return alternatives(below)
            case Repeat(_, least, most):
                return counted(below[0], least, most)
            case RuleRef(name):
                return known[name]
            case Empty():
                return EPSILON
            case Never():
                return NOTHING
            case ByteSet():
                _refuse("raw bytes", node, ir)
            case TagDispatch():
                _refuse("free text with tags", node, ir)
            case Unordered():
                _refuse("members in any order", node, ir)
            case _:
                _refuse("tokens", node, ir)

    return nodes.fold(node, combine)


def _refuse(what: str, node: Node, ir: GrammarIR) -> NoReturn:
    offset = node.span.start if node.span else None
    reason = f"regular operations work on strings of characters; this holds {what}"
    raise UnsupportedFeatureError(reason, ir.source or None, offset)
