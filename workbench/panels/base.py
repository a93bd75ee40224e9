"""What a panel is: a view, tied to a session by a few lines.

A panel belongs to a desk, which tells it when to bring its view up to date, and passes on what a person does in it.
A new panel is a module in this folder with one subclass of `Panel`; nothing else has to know of it.

Read on: `workbench/explorer/dashboard.py` (the desk), `workbench/panels/chart.py` (an example),
`visualizers/live_base.py` (views).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypedDict, TypeVar, cast

from visualizers.live_base import LiveView
from workbench.session.masks import Known

if TYPE_CHECKING:
    from workbench.provenance import SourcePlace
    from workbench.session import Change, Session
    from workbench.session.result import Reading

T = TypeVar("T")
Tab = Literal["", "first", "hood"]
TABS: tuple[Tab, ...] = ("", "first", "hood")
"""How one comes to a panel: it is always in sight (""), or has a tab below the text, or one of those under the hood."""


Message = dict[str, Any]
"""What the browser sends to a panel: a `kind` of its `actions`, and what that reads."""


class Selection(TypedDict):
    """What is chosen, or None each: a token's id, an automaton state's id, a rule as it was written, a place in the
    source, a row of the frontier."""

    token: int | None
    state: int | None
    rule: str | None
    pointer: str | None
    item: int | None


class Desk(Protocol):
    """What a panel may ask of the desk it lies on."""

    @property
    def session(self) -> Session:
        """The session that is shown."""

    @property
    def selection(self) -> Selection:
        """What is chosen."""

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
        they are, or none of another language) · "undo" and "redo" of the text · "stop" · "select" any keys of
        `selection`.
        """

    def page(self) -> str:
        """The desk as one page that needs no Python."""

    def arrange(self, arrangement: Mapping[str, object]) -> None:
        """Have in sight below the text what was there before."""

    def select(self, **chosen: int | str | None) -> None:
        """Change some keys of `selection`; the others stay."""


class Panel:
    """A view and the session's part in it.

    A class of panels has a `name`, a `title` (on its tab, where the first line of the class's docstring tells what one
    sees), a `tab` (in which row that is) and a `rank` (its place there, lowest first).  A panel that is `wide` leaves
    no room for the source beside it.  `view` is what it shows; `views` overrides it where there is more than one.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tab: ClassVar[Tab]
    rank: ClassVar[int]
    wide: ClassVar[bool]
    view: LiveView[Any]

    def __init_subclass__(cls, *, name: str, title: str, tab: Tab = "hood", rank: int = 50, wide: bool = False) -> None:
        cls.name, cls.title, cls.tab, cls.rank, cls.wide = name, title, tab, rank, wide

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.actions: dict[str, Callable[[Message], object]] = {}
        self.message = ""  # what went wrong with what was asked for here
        self.thread: threading.Thread | None = None
        self._made: dict[str, tuple[object, Any]] = {}  # by name: of what, and what was made of it

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

    def once(self, what: str, of: object, make: Callable[[], T]) -> T:
        """`what` as `make` gives it: made again where `of`, what it is made of, is another than the last time."""
        if what not in self._made or self._made[what][0] != of:
            self._made[what] = of, make()
        return cast(T, self._made[what][1])

    def at_place(self, what: str, of: object, make: Callable[[], T]) -> T:
        """`what` as `make` gives it at the session's place, kept for each place of this text while `of` stays the same:
        going back asks the engine nothing again."""
        session = self.session
        known: Known = self.once(what, (session.inspect.compiled, session.document, session.steps, of), Known)
        return known.once(session.place, what, make)

    def chosen(self) -> None:
        """The selection changed while the panel is in sight.  Views that have the trait `selection` have it already."""

    def received(self, content: Message) -> None:
        """A message of a view: its `kind` is one of the panel's `actions`, or a command for the desk."""
        kind = content.get("kind")
        if kind in self.actions:
            self.actions[kind](content)
        elif isinstance(kind, str):
            self.desk.do(kind, **{str(name): value for name, value in content.items() if name != "kind"})

    def attempt(self, action: Callable[[Message], object]) -> Callable[[Message], None]:
        """`action` as one of `actions` whose errors are the panel's `message`."""

        def attempted(content: Message) -> None:
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

        def heard(_view: object, content: object, _buffers: object) -> None:
            if isinstance(content, dict):
                self.received(content)

        for view in self.views.values():
            view.on_msg(heard)

    def close(self) -> None:
        """Let go of what the panel holds besides its views."""
