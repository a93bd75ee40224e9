"""What every live view shares: traits, requests, recorded runs, pages of its own, the static twin, and the step bar.

A view is a plain object: its state is in traits, and nothing of it lives in a browser until a `Host` carries it
(`visualizers/host.py`).  Displayed alone it gets a host of its own; a panel of many views has one host for all.
It takes its snapshot by `show(...)`; displayed later, twice or again after the notebook was closed it shows the same.
What a person clicks is a trait too (`selected`, `selected_item`, `selection`), which the next cell can read.
`play(...)` loads a whole run, which the browser then steps through by `index` without a kernel; `to_html()` and
`save()` write a page that needs nothing else.

Read on: `visualizers/live_frontier.py` (a view), `visualizers/host.py` (the one widget), `visualizers/standalone.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import traitlets as t

from visualizers.host import LINKED, Buffers, Host, Traits, synced
from visualizers.mode import get_mode
from visualizers.standalone import Part, iframe, page, save_html

__all__ = ["LINKED", "LiveView", "StepBar", "Theme", "Traits", "picked", "synced", "to_page"]

Snapshot = TypeVar("Snapshot")
Theme = Literal["light", "dark"]
Handler = Callable[["LiveView[Any]", Any, Buffers], None]
Answer = Callable[[Traits], Traits]


def picked(one: object, *names: str) -> Traits:
    """Some fields of `one`, by their names."""
    return {name: getattr(one, name) for name in names}


class LiveView(t.HasTraits, Generic[Snapshot]):  # type: ignore[misc]
    """What all views share: stepping through a recorded run, the page of its own, and the static twin.

    `steps[index]` are the traits of the step shown; empty when nothing was recorded.  `_placed` names the traits that
    depend on nothing but the place in a text (and on the traits in `_given`, which a person sets): a host keeps them
    for places already visited, so that going back there asks Python nothing.  `_paged` names those that only a page
    without Python needs beside them.  `_follows` names those that are the number of steps read: the browser sets them
    when it goes to a place by itself.  `_needs` names the parts of the bundle beside the views that draw it.
    `written` turns the engine's name of a rule, or its dotted rule, into that of the source.
    """

    _module: ClassVar[str]
    _height: ClassVar[int] = 380
    _placed: ClassVar[tuple[str, ...]] = ()
    _given: ClassVar[tuple[str, ...]] = ()
    _paged: ClassVar[tuple[str, ...]] = ()
    _follows: ClassVar[tuple[str, ...]] = ()
    _needs: ClassVar[tuple[str, ...]] = ()

    index = synced(t.Int(0))
    steps = synced(t.List())
    offline = synced(t.Bool(False))

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._shown: Snapshot | None = None
        self._carriers: list[Host] = []
        self._handlers: list[Handler] = []
        self._widget: Host | None = None
        self._answers: dict[str, Answer] = {}
        self.written: Callable[[str], str] = str
        super().__init__()
        if snapshot is not None:
            self.show(snapshot)

    @property
    def keys(self) -> list[str]:
        """Names of the traits that the browser sees."""
        return list(self.traits(sync=True))

    def contract(self) -> Traits:
        """What who carries it must know: its module, its traits, and what these depend on."""
        depends = {"placed": list(self._placed), "given": list(self._given), "follows": list(self._follows)}
        return {"module": self._module, "traits": self.keys, **depends}

    # -- carried by a host -------------------------------------------------------------------------------------------

    @property
    def widget(self) -> Host:
        """A host for this view alone, made when it is first asked for."""
        if self._widget is None:
            self._widget = Host({self._module: self})
        return self._widget

    @property
    def model_id(self) -> str:
        """The id of this view's own widget."""
        return str(self.widget.model_id)

    def close(self) -> None:
        """Let go of this view's own widget, if it has one."""
        if self._widget is not None:
            self._widget.close()
            self._widget = None

    def carried(self, carrier: Host) -> Callable[[], None]:
        """Called by a host that carries this view from now on; returns the function that ends it."""
        self._carriers.append(carrier)
        return lambda: self._carriers.remove(carrier) if carrier in self._carriers else None

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Within, changes are collected; at the end they go to the browser as one message."""
        with ExitStack() as held:
            for carrier in self._carriers:
                held.enter_context(carrier.hold_sync())
            yield

    def send(self, content: object, buffers: Buffers | None = None) -> None:
        """Send a message to this view in the browser; nobody hears it where the view is not displayed."""
        for carrier in self._carriers:
            carrier.deliver(self, content, buffers)

    def on_msg(self, handler: Handler) -> None:
        """Call `handler(view, content, buffers)` for every message of this view from the browser."""
        self._handlers.append(handler)

    def answers(self, kind: str, answer: Answer) -> None:
        """Answer requests of `kind` by `answer(request)`, a dict; an error it raises goes back as `error`.

        A request names its view and a sequence number (`ask` in `frontend/src/common.js`); the reply repeats both.
        """
        self._answers[kind] = answer

    def _answer(self, content: object) -> None:
        if not isinstance(content, dict) or "seq" not in content or "type" not in content:
            return
        reply: Traits = {"view": content.get("view"), "seq": content.get("seq")}
        try:
            kind = content.get("type")
            if kind not in self._answers:
                raise ValueError(f"request {kind!r} is not known")
            reply |= self._answers[kind](content)
        except (LookupError, TypeError, ValueError) as error:
            reply["error"] = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        self.send(reply)

    def receive(self, content: object, buffers: Buffers) -> None:
        """A message of this view from the browser."""
        self._answer(content)
        for handler in list(self._handlers):
            handler(self, content, buffers)

    # -- what it shows -----------------------------------------------------------------------------------------------

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
        return {"module": self._module, "state": self.page_state(), "needs": self._needs}

    def page_state(self) -> Traits:
        """The traits as a page without Python has them; what is only for who works here is left out."""
        return picked(self, *self.keys)

    def take_given(self, other: LiveView[Any]) -> None:
        """Set what a person has set in `other`, a view of the same kind."""
        for trait in self._given:
            setattr(self, trait, getattr(other, trait))

    def page_place(self, name: str) -> Traits | None:
        """What a page keeps, for `fill` of the host script, of the view called `name` at the place that it shows; None
        where nothing of it depends on the place."""
        traits = (*self._placed, *self._paged)
        if not traits:
            return None
        state = self.page_state()
        values = [[f"{'shared' if trait in LINKED else name}__{trait}", state[trait]] for trait in traits]
        return {"given": [getattr(self, trait) for trait in self._given], "values": values}

    def placed_part(self, name: str, shown: LiveView[Any]) -> Part:
        """The part of a page that is called `name`: what belongs to the place is as here, all else as in `shown`."""
        there = self.part()
        part = there if self._placed else shown.part()
        state = {**part["state"], **{trait: there["state"][trait] for trait in self._paged}}
        placed = (*self._placed, *self._paged)
        return {**part, "state": state, "name": name, "placed": placed, "given": self._given, "follows": self._follows}

    def to_html(self, *, title: str | None = None, theme: Theme | None = None) -> str:
        """The view as one HTML document; with a step bar when a run was recorded."""
        return to_page([self], title=title or type(self).__name__, theme=theme)

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        return save_html(path, self.to_html(title=title))

    def static_html(self) -> str:
        """What is shown now as sanitiser-proof HTML: tables and pictures only."""
        return "<i>nothing shown yet</i>" if self._shown is None else self.tables_of(self._shown)

    def tables_of(self, snapshot: Snapshot) -> str:
        """`snapshot` as sanitiser-proof HTML; nothing where there is nothing to say."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'empty' if self._shown is None else repr(self._shown)})"

    def _ipython_display_(self) -> None:
        if get_mode() == "static":
            raise NotImplementedError("static displays are made by _repr_mimebundle_")
        data, _ = self._repr_mimebundle_()
        self.widget.display(data["text/html"], repr(self))

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[Traits, Traits]:
        static = self.static_html()
        if get_mode() == "static":
            return {"text/plain": repr(self), "text/html": static}, {}
        data, metadata = self.widget.bundle()
        # For exports without widgets: the live page in a frame, and where frames are dropped still the tables.  A page
        # that would have to carry Graphviz is too large to lie in every output.
        twin = static
        if "graphviz" not in self.part()["needs"]:
            frame = iframe(to_page([self], title=type(self).__name__, heading=False), height=self._height)
            twin = f"{frame}<details><summary>as a table</summary>{static}</details>"
        return {**data, "text/plain": repr(self), "text/html": twin}, metadata


class StepBar(LiveView[Sequence[str]]):
    """Buttons, a slider and keys that set `index`, which the views of a page share; `labels` has one entry a step."""

    _module = "steps"
    _height = 60

    labels = synced(t.List(t.Unicode()))

    def __init__(self, labels: Iterable[str] = ()) -> None:
        super().__init__(list(labels))

    def traits_of(self, snapshot: Sequence[str]) -> Traits:
        return {"labels": list(snapshot)}

    def static_html(self) -> str:
        return f"<span>step {self.index:,} of {max(0, len(self.labels) - 1):,}</span>"

    def __repr__(self) -> str:
        return f"StepBar(step {self.index} of {max(0, len(self.labels) - 1)})"


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
    count = max((len(part["state"]["steps"]) for part in parts), default=0)
    if count and not any(isinstance(view, StepBar) for view in views):
        named = list(labels) if labels is not None else [f"step {index}" for index in range(count)]
        if len(named) != count:
            raise ValueError(f"{len(named)} labels for {count} steps")
        parts.insert(0, StepBar(named).part())
    return page(parts, title=title, heading=heading, theme=theme)
