"""What every live view shares: traits, recorded runs, pages of its own, the static twin, and the step bar.

Read on: `visualizers/live.py` (the views), `visualizers/standalone.py` (pages).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import anywidget
import traitlets as t
from ipywidgets import jslink

from visualizers.assets import module, stylesheet
from visualizers.mode import get_mode
from visualizers.standalone import Part, iframe, page

__all__ = ["LiveView", "StepBar", "Theme", "Traits", "synced", "to_page"]

Snapshot = TypeVar("Snapshot")
Traits = dict[str, Any]
Theme = Literal["light", "dark"]


def synced(trait: Any) -> Any:
    """`trait`, kept equal in the browser and in Python."""
    return trait.tag(sync=True)


class LiveView(anywidget.AnyWidget, Generic[Snapshot]):  # type: ignore[misc]
    """What all views share: stepping through a recorded run, the page of its own, and the static twin.

    `steps[index]` are the traits of the step shown; empty when nothing was recorded.
    """

    _module: ClassVar[str]
    _styles: ClassVar[tuple[str, ...]]
    _height: ClassVar[int] = 380

    index = synced(t.Int(0))
    steps = synced(t.List())
    offline = synced(t.Bool(False))

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

    labels = synced(t.List(t.Unicode()))

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
