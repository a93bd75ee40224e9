"""Places in grammars that are written as rules or as a pattern: the very nodes that may be read next.

The engine's automata remember which dotted positions each state stands for, and nodes remember where they were
written; so a state of the frontier leads to `[0-9]+` in the text, not only to its rule.

Read on: `workbench/provenance/__init__.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernels_core.automata.lower import AFTER
from kernels_core.grammar.ir import DeferredRule, GrammarIR, children
from workbench.provenance.places import SourcePlace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernels_core import CompiledGrammar
    from kernels_core.inspect.snapshots import EarleyItem
    from workbench.languages import Source
    from workbench.session.context import Context

__all__ = ["called", "rule_places", "spans_of_rules"]

MAX_ITEMS = 200
MAX_PLACES = 1_000  # far more than anybody looks at; a state of many optional parts stands in front of each


def rule_places(source: Source, compiled: CompiledGrammar, waiting: Iterable[EarleyItem]) -> list[SourcePlace]:
    """The nodes that the items of a frontier of `compiled` wait for, and the rules they stand in."""
    tables = compiled.machine.tables
    ir: GrammarIR = tables.lowering.ir
    if ir.source != source.text:  # a grammar that was built by hand has no text
        return []
    found: list[SourcePlace] = []
    items = [item for item in waiting if item.scannable][:MAX_ITEMS]
    for item in items:
        known = False
        for position in tables.positions(item.state):
            if len(found) >= MAX_PLACES:
                return found
            rule = ir.rules[position.rule]
            if isinstance(rule, DeferredRule) or position.offset == AFTER:
                continue
            node = rule.body
            for step in position.path:
                node = children(node)[step]
            span = node.span or rule.span
            if span is None:
                continue
            known = True
            text = source.text[span.start : span.end]
            label = _clip(text) if source.language == "regex" else f"{called(source, position.rule)}: {_clip(text)}"
            found.append(SourcePlace("here", label, (span.start, span.end), None, position.rule))
            if rule.span is not None and source.language != "regex":
                span_ = (rule.span.start, rule.span.end)
                found.append(SourcePlace("around", called(source, position.rule), span_, None, position.rule))
        if not known and item.span is not None:
            found.append(SourcePlace("here", called(source, item.rule), item.span, None, item.rule))
    return found


def called(source: Source, rule: str) -> str:
    """The name that a rule has in the source.  With `%ignore` the engine makes more rules of one of Lark's, whose names
    have no dots."""
    return rule.removesuffix(".first").removesuffix(".text") if source.language == "lark" else rule


def spans_of_rules(context: Context) -> dict[str, tuple[int, int]]:
    """Where each rule of the source is written, for sources that have rules."""
    if context.document.language not in ("ebnf", "lark"):
        return {}
    rules = context.grammar.lazy_ir.rules
    return {name: (rule.span.start, rule.span.end) for name, rule in list(rules.items()) if rule.span is not None}


def written(context: Context) -> str:
    """The source in few words: how many rules were written, or the language of a source that has none.

    The engine's own rules are others: it makes some of a schema, and writes small ones into those that call them.
    """
    if context.document.language not in ("ebnf", "lark"):
        return context.document.title
    count = sum(rule.span is not None for rule in list(context.compiled.grammar.lazy_ir.rules.values()))
    return f"{count:,} rule{'' if count == 1 else 's'} written"


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
