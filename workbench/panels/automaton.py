"""The automaton around the parser.

Read on: `visualizers/live_automaton.py` (`AutomatonView`), `visualizers/way.py`, `workbench/panels/base.py`.
"""

from __future__ import annotations

from functools import partial

from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.forest import engine
from visualizers.live_automaton import AutomatonView
from visualizers.live_frontier import MAX_ITEMS
from visualizers.way import Travelled, travelled
from workbench.panels.base import Desk, Panel
from workbench.provenance import pointers, rule_place, rules_at
from workbench.provenance.rules import called, spelt_out
from workbench.session import Change


class AutomatonPanel(Panel, name="automaton", title="Automaton", rank=10):
    """The rules as automata, with the states where the parser is; a state that is clicked is chosen everywhere.

    A step lights other states; a rule chosen elsewhere is shown.

    The engine shares rules and splits off counted repetitions.  The selection has the rule as it was written, and the
    place in the source that is read in it, if it is at work.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._choosing = False
        self.view: AutomatonView = AutomatonView(
            desk.session.inspect.automaton(), partial(called, desk.session.document)
        )
        self.view.observe(self._picked, names=["selected", "rule"])

    def update(self, change: Change | None) -> None:
        automaton = self.session.inspect.automaton()
        self.view.automaton = automaton
        made = (self.session.inspect.compiled, len(automaton.rules))
        self.view.spelt_out = self.once("spelt out", made, lambda: list(spelt_out(self.session.inspect, automaton)))
        self.view.show(self.session.inspect.frontier(), self._travelled())
        self.view.places = self._places()
        self.chosen()

    def _travelled(self) -> Travelled:
        """Where the text went; nothing of a text whose chart is too large to be looked at."""
        forest = engine(self.session.inspect.compiled)
        with forest.lock:
            try:
                forest.seek(self.session.inspect.matcher.steps())
            except BudgetExceededError:
                return Travelled()
            return travelled(forest)

    def _places(self) -> dict[str, str]:
        """By rule of the automaton that is at work: where in the source the innermost of its items began."""
        items = self.session.inspect.frontier().items[:MAX_ITEMS]
        found = zip(items, pointers(self.session.inspect, (item.origin for item in items)), strict=True)
        latest = sorted(((item.origin, item.rule, place) for item, place in found if place), key=lambda one: one[0])
        return {rule: place for _, rule, place in latest}

    def chosen(self) -> None:
        selection = self.desk.selection
        rule, waiting = self._rule_of(selection.get("rule"), selection.get("pointer"))
        self._choosing = True
        try:
            self.view.choose(selection.get("state"), rule, waiting)
        finally:
            self._choosing = False

    def _rule_of(self, rule: str | None, pointer: str | None) -> tuple[str | None, str]:
        """The rule of the automaton for what is chosen elsewhere, one at work first; None where there is none.

        With it, where it reads something around a place of a schema, the rule that will read that and is not made yet;
        the place itself where no rule is known for it.
        """
        names = {one.rule for one in self.view.automaton.rules}
        at_work = [name for name in self.view.places if name in names]
        written = self._written()
        if rule is None:
            here = next((name for name in at_work if self.view.places[name] == pointer), None)
            if here is not None or pointer is None:
                return here, ""
            waiting = ""
            for one in rules_at(self.session.inspect, pointer):
                drawn = next((name for name in (one, *names) if name in names and written.get(name) == one), None)
                if drawn is not None:
                    return drawn, waiting
                waiting = waiting or one
            return None, waiting or pointer
        shown: str | None = self.view.rule
        if shown is not None and written.get(shown) == rule:
            return shown, ""
        found: list[str] = [name for name in (*at_work, rule, *names) if name in names and written.get(name) == rule]
        there = [name for name in found if pointer is not None and self.view.places.get(name) == pointer]
        wanted: list[str] = there + found
        return (wanted[0] if wanted else None), ""

    def _written(self) -> dict[str, str]:
        """By rule of the automaton: the rule, as it was written, that it comes from."""
        table = self.session.inspect.compiled.state_table
        return {rule.name: rule.source for rule in map(table.rule, range(table.rule_count))}

    def _picked(self, _change: object) -> None:
        if self._choosing:
            return
        state, name = self.view.selected, self.view.rule
        before = self.desk.selection
        written = self._written().get(name, name)
        chosen = {"state": state, "rule": written, "pointer": self.view.places.get(name or "")}
        if name is not None and chosen["pointer"] is None:
            read = before.get("pointer")
            same = isinstance(read, str) and self._rule_of(None, read)[0] == name
            chosen["pointer"] = read if same else rule_place(self.session.inspect, written)
        if any(before.get(key) != value for key, value in chosen.items()):
            self.desk.select(**chosen)
