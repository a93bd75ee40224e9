"""Places in grammars that are written as rules or as a pattern: the very nodes that may be read next.

The engine's automata remember which dotted positions each state stands for, and nodes remember where they were
written; so a state of the frontier leads to `[0-9]+` in the text, not only to its rule.  A small rule is spelt out in
its callers and has no states of its own: what calls it on every way to such a node is being read as well.

Read on: `workbench/provenance/__init__.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from kernels_core import CompiledGrammar
from kernels_core.automata.lower import AFTER
from kernels_core.grammar.ir import DeferredRule, GrammarIR, RuleRef, children, walk
from visualizers.glyphs import clip, many
from workbench.provenance.places import SourcePlace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernels_core.inspect.layout import StateTable
    from kernels_core.inspect.snapshots import Automaton, EarleyItem
    from workbench.languages import Source
    from workbench.session.context import Context

MAX_ITEMS = 200
MAX_SITES = 60  # calls of small rules within one rule that are told apart
MAX_PLACES = 1_000  # far more than anybody looks at; a state of many optional parts stands in front of each


def rule_places(
    source: Source, compiled: CompiledGrammar, waiting: Iterable[EarleyItem], *, calls: bool = True
) -> list[SourcePlace]:
    """The nodes that the items of a frontier of `compiled` wait for, and the rules they stand in; with the `calls` that
    lead to such a node in a rule that is spelt out."""
    tables = compiled.machine.tables
    ir: GrammarIR = tables.lowering.ir
    if ir.source != source.text:  # a grammar that was built by hand has no text
        return []
    found: list[SourcePlace] = []
    table = compiled.state_table
    items = [item for item in waiting if item.scannable][:MAX_ITEMS]
    for item in items:
        known = False
        whose = table.source_name(table.rule_of(item.state))
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
            text = clip(" ".join(source.text[span.start : span.end].split()), 60)
            label = text if source.language == "regex" else f"{called(source, position.rule)}: {text}"
            found.append(SourcePlace("here", label, (span.start, span.end), None, position.rule))
            between = _calls_between(compiled, whose, position.rule) if calls and whose != position.rule else ()
            for caller, ref in between:
                if ref.span is not None:
                    at = (ref.span.start, ref.span.end)
                    found.append(SourcePlace("here", f"{called(source, caller)}: {ref.name}", at, None, caller))
            if rule.span is not None and source.language != "regex":
                span_ = (rule.span.start, rule.span.end)
                found.append(SourcePlace("around", called(source, position.rule), span_, None, position.rule))
        if not known and item.span is not None:
            found.append(SourcePlace("here", called(source, item.rule), item.span, None, item.rule))
    return found


_MADE = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\b(\w+)\.(?:first|text)\b')


def called(source: Source, rule: str) -> str:
    """A rule's name, or a dotted rule, with the names of the source.  With `%ignore` the engine makes more rules of one
    of Lark's, whose names have no dots."""
    return _MADE.sub(lambda found: found[1] or found[0], rule) if source.language == "lark" else rule


def spelt_out(context: Context, automaton: Automaton) -> tuple[str, ...]:
    """The rules of the source that the engine has written into their callers, as far as `automaton` has those, in the
    order of the source."""
    if context.document.language not in ("ebnf", "lark"):
        return ()
    table, ir = context.compiled.state_table, context.compiled.machine.tables.lowering.ir
    names = {rule.rule for rule in automaton.rules}
    made = {rule.source for rule in map(table.rule, range(table.rule_count)) if rule.name in names}
    sites = _sites(ir, made, _own(table))
    spans = {ref.name: ir.rules[ref.name].span for _, ref in sites}
    return tuple(name for _, name in sorted((span.start, name) for name, span in spans.items() if span is not None))


def _own(table: StateTable) -> frozenset[str]:
    """The rules that have automata of their own."""
    return frozenset(table.source_name(number) for number in range(table.rule_count))


def _sites(ir: GrammarIR, begin: Iterable[str], own: frozenset[str]) -> list[tuple[str, RuleRef]]:
    """The calls in these rules, and in what is spelt out in them, of rules that are spelt out."""
    found: list[tuple[str, RuleRef]] = []
    waiting = list(begin)
    seen = set(waiting)
    for caller in waiting:
        rule = ir.rules[caller]
        if isinstance(rule, DeferredRule):
            continue
        for node in walk(rule.body):
            if isinstance(node, RuleRef) and node.name not in own:
                found.append((caller, node))
                if node.name not in seen:
                    seen.add(node.name)
                    waiting.append(node.name)
    return found


_Calls = dict[tuple[int, str, str], list[tuple[str, RuleRef]]]
_KNOWN: WeakKeyDictionary[CompiledGrammar, _Calls] = WeakKeyDictionary()


def _calls_between(compiled: CompiledGrammar, begin: str, end: str) -> list[tuple[str, RuleRef]]:
    """The calls that are on every way from the rule `begin` to `end`, which is spelt out in it.

    Kept while the engine names no other rule.
    """
    table, known = compiled.state_table, _KNOWN.setdefault(compiled, {})
    key = table.rule_count, begin, end
    if key not in known:
        sites = _sites(compiled.machine.tables.lowering.ir, [begin], _own(table))
        known[key] = _between(sites, begin, end)
    return known[key]


def _between(sites: list[tuple[str, RuleRef]], begin: str, end: str) -> list[tuple[str, RuleRef]]:
    if len(sites) > MAX_SITES:
        return []

    def reaches(without: int) -> bool:
        seen, grown = {begin}, True
        while grown:
            new = {ref.name for n, (caller, ref) in enumerate(sites) if n != without and caller in seen} - seen
            seen |= new
            grown = bool(new)
        return end in seen

    return [site for number, site in enumerate(sites) if not reaches(number)]


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
    return f"{many(count, 'rule')} written"
