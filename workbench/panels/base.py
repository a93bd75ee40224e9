"""What a panel is: a view, tied to a session by a few lines.

A panel belongs to a desk, which tells it when to bring its view up to date, and passes on what a person does in it.
A new panel is a module in this folder with one subclass of `Panel`; nothing else has to know of it.

Read on: `workbench/explorer/dashboard.py` (the desk), `workbench/panels/chart.py` (an example),
`visualizers/live_base.py` (views).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from visualizers.live_base import LiveView

if TYPE_CHECKING:
    from workbench.provenance import SourcePlace
    from workbench.session import Change, Session
    from workbench.session.result import Reading

__all__ = ["DOCKS", "Desk", "Dock", "Panel"]

Dock = Literal["screen", "strip", "left_top", "left_bottom", "right_top", "right_bottom"]
DOCKS: tuple[Dock, ...] = ("screen", "strip", "left_top", "left_bottom", "right_top", "right_bottom")
"""Where a panel is at first: the screen is what one sees first, in place of all others; of those the strip on top is
always in sight, the others show one of their tabs."""


class Desk(Protocol):
    """What a panel may ask of the desk it lies on."""

    @property
    def session(self) -> Session:
        """The session that is shown."""

    @property
    def selection(self) -> dict[str, Any]:
        """What is chosen: token (id), state (automaton state id), rule, pointer, item (frontier row), or None each."""

    @property
    def typed(self) -> str | None:
        """The text in the text box where that is not simply the text read."""

    @property
    def reading(self) -> Reading | None:
        """What became of the text typed last."""

    @property
    def trouble(self) -> str:
        """What went wrong with the last command, or ""."""

    forbids: tuple[SourcePlace, ...]
    """Places in the source that refuse what a model wanted here: the source lights them."""

    def do(self, kind: str, **args: Any) -> None:
        """Perform a person's command and bring everything up to date; what goes wrong is shown, not raised.

        "prefix" text · "move" to="back"|"forward"|"first"|"last", by="token"|"byte" · "goto" index · "token" id ·
        "open" (as "source", with an empty text and no examples; `memo` is what panels keep with it) ·
        "text" text (str or bytes) to read on with · "source" text, language (None: as it is), options (None: as
        they are, or none of another language) · "undo" and "redo" of the text · "restore" number (of the session's
        `kept`) · "stop" · "select" any keys of `selection`.
        """

    def page(self) -> str:
        """The desk as one page that needs no Python."""

    def show(self, name: str) -> None:
        """Bring a panel to the front of its dock."""

    def arrange(self, arrangement: Mapping[str, Any]) -> None:
        """Lay the panels as they lay before."""

    def select(self, **chosen: Any) -> None:
        """Change some keys of `selection`; the others stay."""


class Panel:
    """A view and the session's part in it.

    A class of panels has a `name` (also the key of its place in the arrangement), a `title` (on its tab), a `dock` and
    a `rank` (its place among the tabs there, lowest first).  `view` is what it shows; `views` overrides it where there
    is more than one.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    dock: ClassVar[Dock]
    rank: ClassVar[int]
    view: LiveView[Any]

    def __init_subclass__(cls, *, name: str, title: str, dock: Dock = "right_bottom", rank: int = 50) -> None:
        cls.name, cls.title, cls.dock, cls.rank = name, title, dock, rank

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.actions: dict[str, Callable[[dict[str, Any]], object]] = {}
        self.message = ""  # what went wrong with what was asked for here
        self.thread: threading.Thread | None = None

    @property
    def session(self) -> Session:
        return self.desk.session

    @property
    def views(self) -> Mapping[str, LiveView[Any]]:
        """The views of this panel by the names they have on the host; each name once on a desk."""
        return {self.name: self.view}

    def update(self, change: Change | None) -> None:
        """Bring the views up to date at the session's place.

        Called with the session held, only while the panel is in sight or when it comes into sight.  `change` is what
        changed since the last call, and None when that may be anything (also the grammar).  Keep it under 5 ms: cache
        what belongs to a parser state.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it is brought up to date")

    def chosen(self) -> None:
        """The selection changed while the panel is in sight.  Views that have the trait `selection` have it already."""

    def received(self, content: Any) -> None:
        """A message of a view: a dict whose `kind` is one of the panel's `actions`, or a command for the desk."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in self.actions:
            self.actions[kind](content)
        elif isinstance(kind, str):
            self.desk.do(kind, **{str(name): value for name, value in content.items() if name != "kind"})

    def attempt(self, action: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
        """`action` as one of `actions` whose errors are the panel's `message`."""

        def attempted(content: dict[str, Any]) -> None:
            self.message = ""
            try:
                action(content)
            except Exception as error:
                self.message = str(error) or type(error).__name__
            self.desk.do("select")

        return attempted

    def begin(self, work: Callable[[], object], ended: Callable[[], object]) -> threading.Thread:
        """Do `work` in a thread, then `ended`, and bring all up to date; an error is the panel's `message`."""

        def run() -> None:
            try:
                work()
            except Exception as error:
                self.message = str(error) or type(error).__name__
            finally:
                ended()
            self.desk.do("select")

        self.thread = threading.Thread(target=run, name=f"maskscope-{self.name}", daemon=True)
        self.thread.start()
        return self.thread

    def wait(self) -> None:
        """Wait until what was begun last has ended."""
        if self.thread is not None:
            self.thread.join()

    def static_html(self) -> str:
        """The panel at the session's place as sanitiser-proof HTML; "" where there is nothing to say."""
        return "".join(view.static_html() for view in self.views.values())

    def take(self, other: Panel) -> None:
        """Show what `other`, a panel of this kind, shows of a session that this one's is a copy of."""

    def listen(self) -> None:
        """Pass the messages of the views to `received`.  The desk calls it once."""
        for view in self.views.values():
            view.on_msg(_heard(self.received))

    def close(self) -> None:
        """Let go of what the panel holds besides its views."""


def _heard(received: Callable[[Any], None]) -> Callable[[Any, Any, Any], None]:
    return lambda _view, content, _buffers: received(content)
