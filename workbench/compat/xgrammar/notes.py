"""What rules note for whoever drives a generation: `capture`, spans of the text, and `temperature`, for the sampler.

Masks do not depend on notes, and the engine's automata do not keep apart what small rules read.  So the grammars that
have notes are lowered once more with every rule by itself, and the textbook chart of the text (`inspect.classic`) says
where rules began and ended.  That is plain Python: fit for reading a text once, not for every token of a large batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from kernels_core import CompiledGrammar, GrammarMatcher, Options
from kernels_core.inspect.classic import Chart, ChartItem, Step
from kernels_core.inspect.layout import StateTable
from kernels_core.locks import Lock, new_lock


class Notes:
    """The notes of one compiled grammar: `captures` names spans by rule, `temperatures` are by rule."""

    _known: ClassVar[WeakKeyDictionary[CompiledGrammar, Notes]] = WeakKeyDictionary()
    _lock: ClassVar[Lock] = new_lock()

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._grammar = compiled.grammar
        self._info = compiled.tokenizer_info
        rules = compiled.grammar.ir.rules.values()

        def noted(kind: str) -> dict[str, Any]:
            return {rule.name: value for rule in rules for note, value in rule.notes if note == kind}

        captures, temperatures = noted("capture"), noted("temperature")
        self.captures = {rule: rule if name is None else str(name) for rule, name in captures.items()}
        self.temperatures = {rule: float(value) for rule, value in temperatures.items() if value is not None}
        self.trailing = {rule: str(text).encode() for rule, text in noted("trailing").items()}
        self.hidden = noted("hidden").keys()
        self.stop_captures = {rule: str(name) for rule, name in noted("stop_capture").items()}

    @classmethod
    def of(cls, compiled: CompiledGrammar) -> Notes:
        """The notes of `compiled`, read once."""
        with cls._lock:
            if compiled not in cls._known:
                cls._known[compiled] = cls(compiled)
            return cls._known[compiled]

    @cached_property
    def table(self) -> StateTable:
        """Automata with every rule by itself."""
        options = Options.laboratory(inline_limit=0, cross_grammar_cache=False)
        compiled = CompiledGrammar(self._grammar, self._info, options)
        compiled.complete()  # nobody reads the text with it, so nothing would be made
        return compiled.state_table


class NotedText:
    """The notes along one matcher's text.  For one thread, as the matcher is."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    @cached_property
    def _chart(self) -> Chart:
        return Chart(self.notes.table)

    def captures(self, matcher: GrammarMatcher, *, deduplicate: bool) -> list[tuple[str, bytes]]:
        """`(name, bytes)` of every noted rule that ended, by where it ended.

        deduplicate: of those of one rule that began at one place, the longest alone.
        """
        noted = {**self.notes.captures, **self.notes.stop_captures}
        if not noted:
            return []
        steps = matcher.steps()
        self._chart.seek(steps)
        places = _places(steps)
        ends: dict[tuple[str, int, int], int] = {}
        hidden: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for rule, begin, end in self._chart.completions():
            if rule in self.notes.hidden:
                self._hide(rule, begin, end, places, hidden)
            if rule in noted:
                span = (rule, begin, 0 if deduplicate else end)
                ends.pop(span, None)  # a longer one stands where it ended
                ends[span] = end
        found: list[tuple[str, bytes]] = []
        for (rule, begin, _), end in ends.items():
            trailing = self.notes.trailing.get(rule, b"")
            stopped = bool(trailing) and b"".join(places[begin:end]).endswith(trailing)
            if stopped and rule in self.notes.stop_captures:
                found.append((self.notes.stop_captures[rule], trailing))
            if rule in self.notes.captures:
                kept = places[begin : end - len(trailing) if stopped else end]
                for low, high in hidden.get((rule, begin), ()):
                    if high <= end:
                        kept[low - begin : high - begin] = [b""] * len(kept[low - begin : high - begin])
                found.append((self.notes.captures[rule], b"".join(kept)))
        return found

    def _hide(
        self, rule: str, begin: int, end: int, places: list[bytes], hidden: dict[tuple[str, int], list[tuple[int, int]]]
    ) -> None:
        """What a `rule` ended with, from `begin` to `end`, into `hidden` for all that called it there."""
        trailing = self.notes.trailing.get(rule, b"")
        if trailing and b"".join(places[begin:end]).endswith(trailing):
            for caller in self._chart.calling(rule, begin):
                hidden.setdefault(caller, []).append((end - len(trailing), end))

    def temperature(self, matcher: GrammarMatcher) -> float | None:
        """The temperature of the innermost noted rule that is being read; the highest, if there are several."""
        if not self.notes.temperatures or matcher.is_terminated():
            return None
        self._chart.seek(matcher.steps())
        found = []
        table = self.notes.table
        pending: list[ChartItem] = self._chart.reading()
        seen = set(pending)
        while pending:
            item = pending.pop()
            chosen = self.notes.temperatures.get(table.rule_name(item.state))
            if chosen is not None:
                found.append(chosen)
                continue
            above = self._chart.callers(table.rule_of(item.state), item.origin)
            callers = [caller for _, caller in above if caller not in seen]
            seen.update(callers)
            pending += callers
        return max(found, default=None)


def _places(steps: Iterable[Step]) -> list[bytes]:
    """The bytes of each column of a chart: one, or none for a token without text."""
    places: list[bytes] = []
    for step in steps:
        if step.text:
            places += [bytes([byte]) for byte in step.text]
        elif step.token is not None:
            places.append(b"")
    return places
