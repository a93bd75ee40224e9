"""Live views of the snapshots: anywidget views that show one step and then the next.

Every view takes its snapshot by `show(...)` and keeps all state in traits, so a view that is displayed later, twice
or again after the notebook was closed shows the same.  What a person clicks is a trait too (`selected`,
`selected_item`, `selected_token`) and can be read in the next cell.  `play(...)` loads a whole run, which the browser
then steps through by `index` without a kernel; `to_html()` and `save()` write a page that needs nothing else.

Read on: `visualizers/esm/*.js` (the browser's side), `visualizers/standalone.py` (pages), `visualizers/html.py`
(the static twins).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import anywidget
import traitlets as t
from ipywidgets import jslink

from kernels_core.inspect.snapshots import Automaton, CacheStats, EarleyItem, Frontier, TokenSets
from visualizers import html
from visualizers.assets import module, stylesheet
from visualizers.glyphs import clip, split_dot, split_rules
from visualizers.layout import DEFAULT_MAX_STATES, TIMEOUT, Engine, plan
from visualizers.mode import get_mode
from visualizers.standalone import Part, iframe, page
from visualizers.svg import render
from visualizers.tokens import TABS, TokenIndex, as_tab, token_index

__all__ = ["AutomatonView", "CounterView", "FrontierView", "LiveView", "MaskMap", "StepBar", "TokenTable", "to_page"]

MAX_ITEMS: Final = 500
MAX_DOTS: Final = 12
DOT_WIDTH: Final = 240
PAGE: Final = 100
MAX_PAGE: Final = 500
MAX_QUERY: Final = 200
EXPORTED_ROWS: Final = 200
# A recorded run keeps fewer rows a step: its page should stay in the hundreds of kilobytes.
RECORDED_ROWS: Final = 40

Snapshot = TypeVar("Snapshot")
Traits = dict[str, Any]
Theme = Literal["light", "dark"]


def _synced(trait: Any) -> Any:
    return trait.tag(sync=True)


class LiveView(anywidget.AnyWidget, Generic[Snapshot]):  # type: ignore[misc]
    """What all views share: stepping through a recorded run, the page of its own, and the static twin.

    `steps[index]` are the traits of the step shown; empty when nothing was recorded.
    """

    _module: ClassVar[str]
    _styles: ClassVar[tuple[str, ...]]
    _height: ClassVar[int] = 380

    index = _synced(t.Int(0))
    steps = _synced(t.List())
    offline = _synced(t.Bool(False))

    def __init__(self) -> None:
        self._shown: Snapshot | None = None
        super().__init__()

    def traits_of(self, snapshot: Snapshot) -> Traits:
        """The traits that show `snapshot`; must not change the view."""
        raise NotImplementedError

    def show(self, snapshot: Snapshot) -> None:
        """Show one snapshot.  Only what differs from the last one is sent."""
        traits = self.traits_of(snapshot)
        self._shown = snapshot
        with self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def play(self, snapshots: Iterable[Snapshot]) -> None:
        """Record a run; the browser then shows the step `index` by itself."""
        self.steps = [self.traits_of(snapshot) for snapshot in snapshots]
        self.index = 0

    def part(self) -> Part:
        """This view as part of a page without Python (see `visualizers.standalone.page`)."""
        names = [name for name in self.traits(sync=True) if not name.startswith("_") and name not in _WIDGET_TRAITS]
        return Part(self._module, self._styles, {name: getattr(self, name) for name in names})

    def to_html(self, *, title: str | None = None, theme: Theme | None = None) -> str:
        """The view as one HTML document; with a step bar when a run was recorded."""
        return to_page([self], title=title or type(self).__name__, theme=theme)

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"cannot save a view as {path.suffix or 'a file without suffix'!r}: use .html")
        path.write_text(self.to_html(title=title), encoding="utf-8")
        return path

    def static_html(self) -> str:
        """What is shown now as sanitiser-proof HTML: tables and pictures only."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[Traits, Traits] | None:
        static = self.static_html()
        if get_mode() == "static":
            return {"text/plain": repr(self), "text/html": static}, {}
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        # For exports without widgets: the live page in a frame, and where frames are dropped still the tables.
        frame = iframe(to_page([self], title=type(self).__name__, heading=False), height=self._height)
        twin = f"{frame}<details><summary>as a table</summary>{static}</details>"
        return {**data, "text/html": twin}, metadata


_WIDGET_TRAITS: Final = frozenset(anywidget.AnyWidget.class_trait_names(sync=True))


class StepBar(LiveView[Sequence[str]]):
    """Buttons, slider and arrow keys that set `index`; `drive(...)` makes other views follow, in the browser.

    `labels` has one entry a step.
    """

    _module = "steps"
    _styles = ("steps",)
    _height = 60
    _esm = module("steps")
    _css = stylesheet("theme", "base", "steps")

    labels = _synced(t.List(t.Unicode()))

    def __init__(self, labels: Iterable[str] = ()) -> None:
        super().__init__()
        self.show(list(labels))

    def traits_of(self, snapshot: Sequence[str]) -> Traits:
        return {"labels": list(snapshot)}

    def drive(self, *views: LiveView[Any]) -> None:
        """Link the `index` of `views` to this bar's in the browser."""
        for view in views:
            view.index = self.index
            jslink((self, "index"), (view, "index"))

    def static_html(self) -> str:
        return f"<span>step {self.index:,} of {max(0, len(self.labels) - 1):,}</span>"

    def __repr__(self) -> str:
        return f"StepBar(step {self.index} of {max(0, len(self.labels) - 1)})"


class AutomatonView(LiveView[Frontier]):
    """The automaton, laid out once; `show(frontier)` lights the active states by their ids.

    Above `max_states` states rules are folded to the nodes of a call graph; `expanded` names the rules drawn in full.
    `selected` is the id of the state that was clicked, or None.  `engine` and `timeout` are those of `layout.plan`.
    """

    _module = "automaton"
    _styles = ("svg", "automaton")
    _height = 420
    _esm = module("automaton")
    _css = stylesheet("theme", "base", "svg", "automaton")

    svg = _synced(t.Unicode())
    active = _synced(t.List(t.Int()))
    selected = _synced(t.Int(None, allow_none=True))
    states = _synced(t.Dict())
    owner = _synced(t.Dict())
    rules = _synced(t.List(t.Unicode()))
    expanded = _synced(t.List(t.Unicode()))
    engine = _synced(t.Unicode())
    note = _synced(t.Unicode())

    def __init__(
        self,
        automaton: Automaton,
        *,
        max_states: int = DEFAULT_MAX_STATES,
        engine: Engine | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__()
        self._max_states = max_states
        self._engine: Engine | None = engine
        self._timeout = timeout
        self._drawing = False
        self.automaton = automaton

    @property
    def automaton(self) -> Automaton:
        """The automaton that is drawn.  Setting another draws it, with nothing lit, selected or recorded."""
        return self._automaton

    @automaton.setter
    def automaton(self, automaton: Automaton) -> None:
        picture = self._picture(automaton, None)
        self._automaton = automaton
        owner = {str(state.id): k for k, rule in enumerate(automaton.rules) for state in rule.states}
        self._drawing = True
        try:
            with self.hold_sync():
                self.steps, self.index = [], 0
                self.active, self.selected = [], None
                self.rules = [rule.rule for rule in automaton.rules]
                # Only a folded picture needs to know which rule a state that is not drawn belongs to.
                self.owner = owner if len(picture["expanded"]) < len(automaton.rules) else {}
                self._take(picture)
        finally:
            self._drawing = False

    def expand(self, *rules: str) -> None:
        """Draw exactly `rules` in full.  Raises `ValueError` for an unknown rule or for too many states."""
        picture = self._picture(self._automaton, rules)
        self._drawing = True
        try:
            with self.hold_sync():
                self._take(picture)
        finally:
            self._drawing = False

    @t.observe("expanded")  # type: ignore[misc]
    def _expanded_changed(self, change: Traits) -> None:
        """The person folded or expanded a rule; what cannot be drawn is said and undone."""
        if self._drawing:
            return
        try:
            self.expand(*change["new"])
        except ValueError as error:
            self._drawing = True
            try:
                self.expanded, self.note = change["old"], str(error)
            finally:
                self._drawing = False

    def _picture(self, automaton: Automaton, rules: Sequence[str] | None) -> Traits:
        drawn = plan(automaton, rules=rules, max_states=self._max_states, engine=self._engine, timeout=self._timeout)
        states = {
            str(state.id): {"rule": state.rule, "dots": [clip(dot, DOT_WIDTH) for dot in _some(state.dots)]}
            for k in drawn.expanded
            for state in automaton.rules[k].states
        }
        expanded = [automaton.rules[k].rule for k in drawn.expanded]
        svg = render(automaton, drawn)
        return {"svg": svg, "states": states, "expanded": expanded, "engine": drawn.engine, "note": drawn.note}

    def _take(self, picture: Traits) -> None:
        # The picture goes last: its arrival is what makes the browser draw.
        for name in ("states", "expanded", "engine", "note", "svg"):
            setattr(self, name, picture[name])

    def traits_of(self, snapshot: Frontier) -> Traits:
        return {"active": list(snapshot.active_states())}

    def static_html(self) -> str:
        return html.automaton(self._automaton, active=self.active, max_states=self._max_states)

    def __repr__(self) -> str:
        states = self._automaton.state_count()
        return f"AutomatonView({len(self.rules)} rules, {states} states, {len(self.active)} active, by {self.engine})"


def _some(dots: tuple[str, ...]) -> list[str]:
    more = len(dots) - MAX_DOTS
    return [*dots[:MAX_DOTS], *([f"+{more} more"] if more > 0 else [])]


class FrontierView(LiveView[Frontier]):
    """The Earley items of a step, one row each; `selected_item` is the row that was clicked, or None.

    Of a frontier of more than 500 items the first 500 are shown, and the view says so.
    """

    _module = "frontier"
    _styles = ("frontier",)
    _esm = module("frontier")
    _css = stylesheet("theme", "base", "frontier")

    about = _synced(t.Dict())
    items = _synced(t.List())
    selected_item = _synced(t.Int(None, allow_none=True))

    def __init__(self, frontier: Frontier | None = None) -> None:
        super().__init__()
        if frontier is not None:
            self.show(frontier)

    def traits_of(self, snapshot: Frontier) -> Traits:
        about = {
            "position": snapshot.position,
            "set_id": snapshot.set_id,
            "completed": snapshot.completed,
            "total": len(snapshot.items),
        }
        return {"about": about, "items": [_item(item) for item in snapshot.items[:MAX_ITEMS]], "selected_item": None}

    @property
    def frontier(self) -> Frontier | None:
        """The frontier shown last."""
        return self._shown

    def static_html(self) -> str:
        return html.frontier(self._shown) if self._shown else "<i>no frontier shown yet</i>"

    def __repr__(self) -> str:
        return f"FrontierView({len(self._shown)} items)" if self._shown else "FrontierView(empty)"


def _item(item: EarleyItem) -> Traits:
    rules = split_rules(item.dot)
    dots = [split_dot(rule) or (rule,) for rule in rules[:MAX_DOTS]]
    return {
        # [before, after] the dot; a rule without one is [text].
        "dots": [[clip(side, DOT_WIDTH) for side in sides] for sides in dots],
        "more": max(0, len(rules) - MAX_DOTS),
        "origin": item.origin,
        "counter": item.counter,
        "state": item.state,
        "scannable": item.scannable,
        "accepting": item.accepting,
    }


class _TokenView(LiveView[TokenSets]):
    """A view that answers requests about the token sets shown last.

    A request names its view and a sequence number; the reply repeats both, or carries `error`.
    """

    selected_token = _synced(t.Int(None, allow_none=True))

    def __init__(self, token_sets: TokenSets | None = None) -> None:
        self._index: TokenIndex | None = None
        self._answers: dict[str, Callable[[Traits], Traits]] = {"token": self._answer_token}
        super().__init__()
        self.on_msg(self._answer)
        if token_sets is not None:
            self.show(token_sets)

    def _answer(self, _widget: object, content: Any, _buffers: object) -> None:
        if not isinstance(content, dict):
            return
        reply: Traits = {"view": content.get("view"), "seq": content.get("seq")}
        try:
            kind = content.get("type")
            if kind not in self._answers:
                raise ValueError(f"request {kind!r} is not known")
            reply |= self._answers[kind](content)
        except (IndexError, TypeError, ValueError) as error:
            reply["error"] = str(error)
        self.send(reply)

    def _answer_token(self, content: Traits) -> Traits:
        if self._index is None:
            raise ValueError("no token sets shown yet")
        return {"row": self._index.row(int(content["id"]))} if "id" in content else {}

    @property
    def token_sets(self) -> TokenSets | None:
        """The token sets shown last."""
        return self._shown

    def static_html(self) -> str:
        return html.token_sets(self._shown) if self._shown else "<i>no token sets shown yet</i>"

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._index is None:
            return f"{name}(empty)"
        return f"{name}({self._index.counts['allowed']:,} of {self._index.counts['all']:,} tokens allowed)"


class TokenTable(_TokenView):
    """Every token of the vocabulary with what became of it: tabs by kind, search, and rows on demand.

    `tab`, `query` and `state` (one scannable state's id, or None for all) say what is listed and can be set from
    Python; `selected_token` is the id that was clicked, or None.  The browser asks for 100 rows at a time.
    """

    _module = "tokens"
    _styles = ("tokens",)
    _height = 440
    _esm = module("tokens")
    _css = stylesheet("theme", "base", "tokens")

    tab = _synced(t.Enum(TABS, default_value="accepted"))
    query = _synced(t.Unicode(""))
    state = _synced(t.Int(None, allow_none=True))
    counts = _synced(t.Dict())
    states = _synced(t.List())
    version = _synced(t.Int(0))
    # The first rows of what is listed travel with the step, so that showing a step asks nothing back.
    page = _synced(t.Dict())
    page_by_tab = _synced(t.Dict())

    def __init__(self, token_sets: TokenSets | None = None) -> None:
        self._recorded: list[TokenSets] = []
        super().__init__(token_sets)
        self._answers["page"] = self._answer_page

    def show(self, snapshot: TokenSets) -> None:
        """Show one step's token sets; tab and query stay, the state filter stays while that state is scannable."""
        with self.hold_sync():
            if self.state is not None and all(entry.state != self.state for entry in snapshot.states):
                self.state = None
            index = token_index(snapshot) if self.state is None else TokenIndex(snapshot, self.state)
            self._index, self._shown = index, snapshot
            self._tell(index)

    def _tell(self, index: TokenIndex) -> None:
        self.counts = index.counts
        self.states = _state_list(index)
        self.version += 1
        ids = index.ids(as_tab(self.tab), self.query)
        self.page = {
            "tab": self.tab,
            "query": self.query,
            "version": self.version,
            "total": len(ids),
            "rows": index.rows(ids[:PAGE]),
        }

    @t.validate("query")  # type: ignore[misc]
    def _valid_query(self, proposal: Traits) -> str:
        return str(proposal["value"])[:MAX_QUERY]

    @t.observe("state")  # type: ignore[misc]
    def _state_changed(self, change: Traits) -> None:
        if self._shown is None or (self._index is not None and self._index.state == change["new"]):
            return
        try:
            index = TokenIndex(self._shown, change["new"])  # without a state: over all of them
        except KeyError:
            self.state = None
            return
        self._index = index
        with self.hold_sync():
            self._tell(index)

    @t.observe("index")  # type: ignore[misc]
    def _index_changed(self, change: Traits) -> None:
        if 0 <= change["new"] < len(self._recorded):
            self.show(self._recorded[change["new"]])

    def play(self, snapshots: Iterable[TokenSets]) -> None:
        """Record a run.  With a kernel the rows are answered from Python; a page carries the first of each step."""
        self._recorded = list(snapshots)
        self.index = 0
        if self._recorded:
            self.show(self._recorded[0])

    def traits_of(self, snapshot: TokenSets) -> Traits:
        return self._exported(TokenIndex(snapshot), RECORDED_ROWS)

    def _exported(self, index: TokenIndex, rows: int) -> Traits:
        return {
            "counts": index.counts,
            "states": _state_list(index),
            "page_by_tab": {tab: index.rows(index.ids(tab)[:rows]) for tab in TABS},
        }

    def part(self) -> Part:
        part = super().part()
        state = {**part.state, "page": {}, "state": None}
        if self._recorded:
            state["steps"] = [self.traits_of(snapshot) for snapshot in self._recorded]
        elif self._shown is not None:
            state |= self._exported(token_index(self._shown), EXPORTED_ROWS)
        return Part(part.module, part.styles, state)

    def _answer_page(self, content: Traits) -> Traits:
        tab, query = as_tab(content.get("tab")), str(content.get("query") or "")[:MAX_QUERY]
        start, count = int(content.get("start", 0)), int(content.get("count", PAGE))
        if start < 0 or not 0 < count <= MAX_PAGE:
            raise ValueError(f"rows {start} to {start + count} were asked: expected at most {MAX_PAGE} from 0 on")
        if self._index is None:
            return {"total": 0, "rows": []}
        ids = self._index.ids(tab, query)
        return {"total": len(ids), "rows": self._index.rows(ids[start : start + count])}


def _state_list(index: TokenIndex) -> list[Traits]:
    return [
        {
            "state": entry.state,
            "rule": entry.rule,
            "dot": clip(entry.dot, DOT_WIDTH),
            "accepted": len(entry.accepted),
            "uncertain": len(entry.uncertain),
            "rejected": entry.rejected_count,
            "storage": entry.storage,
            "nbytes": entry.nbytes,
            "cached": entry.cached,
        }
        for entry in index.sets.states
    ]


class MaskMap(_TokenView):
    """The whole mask as a picture, one pixel a token id; `selected_token` is the id that was clicked, or None.

    `mask` and `uncertain` are bit masks of `size` bits, least significant bit first.
    """

    _module = "mask"
    _styles = ("mask",)
    _height = 460
    _esm = module("mask")
    _css = stylesheet("theme", "base", "mask")

    size = _synced(t.Int(0))
    mask = _synced(t.Bytes(b""))
    uncertain = _synced(t.Bytes(b""))

    def show(self, snapshot: TokenSets) -> None:
        """Show one step's mask."""
        self._index = token_index(snapshot)
        self._shown = snapshot
        with self.hold_sync():
            for name, value in self._bits(self._index).items():
                setattr(self, name, value)

    def traits_of(self, snapshot: TokenSets) -> Traits:
        return self._bits(TokenIndex(snapshot))

    def _bits(self, index: TokenIndex) -> Traits:
        return {"size": index.sets.vocab_size, "mask": index.mask_bits(), "uncertain": index.uncertain_bits()}


_GROWING: Final = ("step_hits", "step_misses", "mask_hits", "mask_misses", "token_set_hits", "token_set_misses")


class CounterView(LiveView[CacheStats]):
    """The engine's counters, each with its change since the snapshot shown before."""

    _module = "counters"
    _styles = ("counters",)
    _height = 230
    _esm = module("counters")
    _css = stylesheet("theme", "base", "counters")

    stats = _synced(t.Dict())
    delta = _synced(t.Dict())

    def __init__(self, stats: CacheStats | None = None) -> None:
        super().__init__()
        if stats is not None:
            self.show(stats)

    def traits_of(self, snapshot: CacheStats) -> Traits:
        stats = asdict(snapshot)
        before = asdict(self._shown) if self._shown else stats
        # Counters only grow; where one fell the snapshot is of another grammar and there is nothing to compare.
        if any(stats[name] < before[name] for name in _GROWING):
            before = stats
        return {"stats": stats, "delta": {name: value - before[name] for name, value in stats.items()}}

    def play(self, snapshots: Iterable[CacheStats]) -> None:
        """Record a run; each step's changes are against the step before it."""
        steps: list[Traits] = []
        shown = self._shown
        try:
            self._shown = None
            for snapshot in snapshots:
                steps.append(self.traits_of(snapshot))
                self._shown = snapshot
        finally:
            self._shown = shown
        self.steps, self.index = steps, 0

    def static_html(self) -> str:
        return html.cache_stats(self._shown) if self._shown else "<i>no counters shown yet</i>"

    def __repr__(self) -> str:
        return (
            f"CounterView({self._shown.sets} sets, {self._shown.masks} masks)" if self._shown else "CounterView(empty)"
        )


def to_page(
    views: Sequence[LiveView[Any]],
    *,
    title: str = "Maskscope",
    labels: Sequence[str] | None = None,
    theme: Theme | None = None,
    heading: bool = True,
) -> str:
    """Several views as one HTML document that needs nothing else, linked by `index` and by the selected token.

    When a run was recorded (`play`) the page begins with a step bar; `labels` names its steps.
    """
    parts = [view.part() for view in views]
    count = max((len(part.state["steps"]) for part in parts), default=0)
    if count and not any(isinstance(view, StepBar) for view in views):
        named = list(labels) if labels is not None else [f"step {index}" for index in range(count)]
        if len(named) != count:
            raise ValueError(f"{len(named)} labels for {count} steps")
        parts.insert(0, StepBar(named).part())
    return page(parts, title=title, link=("index", "selected_token"), heading=heading, theme=theme)
