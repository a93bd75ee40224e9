"""The explorer: every panel of a session on one screen, kept at the same place.

`explore()` opens it.  `Session` holds the state, `Desk` keeps the panels at its place, one `Host` carries all of them
to the browser.

Keys: left / right step by token, with shift by byte; Home, End; `/` searches the tokens; `?` says what one sees.

Read on: `workbench/session/session.py`, `workbench/explorer/dashboard.py`, `workbench/panels/base.py`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from visualizers.glyphs import box_text
from visualizers.host import Host
from visualizers.live_base import LiveView
from visualizers.mode import get_mode
from visualizers.standalone import save_html
from workbench.explorer.dashboard import Dashboard
from workbench.explorer.export import desk_page
from workbench.languages.examples import EXAMPLES
from workbench.panels.base import Panel, Selection
from workbench.panels.kept import KeptPanel
from workbench.panels.screen import ScreenPanel
from workbench.screen import current
from workbench.screen.gallery import FIRST
from workbench.screen.kept import State, keep
from workbench.session import Session
from workbench.session.file import METADATA

EXAMPLE_GRAMMAR = EXAMPLES["ebnf"]


def explore(grammar: object = None, tokenizer: object = "tekken", **options: Any) -> Explorer:
    """Open the explorer on a source and a tokenizer, or on a session you already have; without a source on the first
    entry of the gallery, whose recorded run plays.

    `grammar` is whatever `Session` takes (a text in any language, a JSON schema, tools, a path, a pydantic model).  A
    mistake in it is marked in the editor and can be mended there.  `tokenizer` is whatever `load_tokenizer` takes;
    `options` go to `Session`.  What the person does is in `explorer.session`, readable in the next cell.  Most panels
    are under the hood (`explorer.under_the_hood()`).
    """
    if isinstance(grammar, Session):
        return Explorer(grammar)
    if grammar is None:
        explorer = Explorer(Session(FIRST.source, tokenizer, **options))
        explorer.open(FIRST.name)
        return explorer
    return Explorer(Session.opened(grammar, tokenizer, **options))


def last() -> Explorer:
    """The explorer that was opened last and is not closed; `LookupError` where there is none.

    await wb.last().generate(model, "...")     # works in any cell, whatever the explorer is called there
    """
    found = current.last_explorer()
    if not isinstance(found, Explorer):
        raise LookupError("no explorer is open in this kernel: wb.explore(...) opens one")
    return found


NOT_LIVE: Final = (
    "<div><b>A picture of the explorer, as it was last: run the cell to use it.</b> "
    '<span style="font-size:12px;opacity:0.7"><code>explorer.save(path)</code> writes a page that steps through the '
    "text without Python.</span></div>"
)
LATER_SECONDS: Final = 2.0
"""A notebook's picture of the explorer is brought up to date when nothing has changed for so long."""


class Explorer:
    """All panels of `session`, composed; displays itself in a notebook, with a static twin for exports.

    Use it as a context manager, or `close()` it, to let go of its widget.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.desk = Dashboard(session, export=desk_page)
        self._pictures: list[Callable[[str, Mapping[str, object]], None]] = []
        self._later: threading.Timer | None = None
        self._forget: Callable[[], None] | None = None
        current.note_explorer(self)

    # -- what a person calls -----------------------------------------------------------------------------------------

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels by name."""
        return self.desk.panels

    @property
    def views(self) -> dict[str, LiveView[Any]]:
        """The views of all panels by name; their traits can be read and set."""
        return self.desk.views

    @property
    def widget(self) -> Host:
        """The one widget."""
        return self.desk.host

    @property
    def text(self) -> str:
        """The whole text on the screen; bytes that are no character become U+FFFD."""
        return self._screen.text().decode(errors="replace")

    @property
    def value(self) -> Any:
        """The text as the JSON value that it is; `ValueError` with the location where it is none, such as a text that
        was cut."""
        text = self.text
        try:
            return json.loads(text)
        except ValueError as error:
            raise ValueError(f"the text on the screen is no JSON value: {error}; it ends in {text[-40:]!r}") from None

    @property
    def selection(self) -> Selection:
        """What the person chose in the panel: token, state, rule, pointer, item; None where nothing is."""
        return self.desk.selection

    def on_select(self, handler: Callable[[Selection], object]) -> Callable[[], None]:
        """Call `handler(selection)` whenever the person chooses something else; returns what ends it.

        In marimo, where cells follow values: `get, set = mo.state(explorer.selection); explorer.on_select(set)`.
        """
        return self.desk.on_select(handler)

    @property
    def last_error(self) -> Exception | None:
        """What went wrong with the person's last command, if anything."""
        return self.desk.last_error

    def refresh(self) -> None:
        """Draw every panel in sight at the session's place."""
        self.desk.refresh()

    def bring(self, *names: str) -> Explorer:
        """Bring a panel into sight, below the text, one after the other; `ValueError` for a name that no panel has."""
        for name in names:
            self.desk.show(name)
        return self

    def open(self, name: str) -> Explorer:
        """Open an entry of the gallery on the first screen; its recorded run plays."""
        self._screen.open(name)
        self.desk.refresh()
        return self

    def under_the_hood(self) -> Explorer:
        """Open the row of tabs of all panels, with the automaton in sight."""
        return self.bring("automaton")

    def show(self) -> None:
        """Display the panel in the running cell (as the last line of a cell it displays itself)."""
        from IPython.display import display

        display(self)  # type: ignore[no-untyped-call]

    async def generate(self, model: Any, prompt: str, **options: Any) -> Any:
        """`await session.generate(...)`: the views follow each token, the stop button works, the trace comes back."""
        return await self.session.generate(model, prompt, **options)

    def close(self) -> None:
        """Let go of the session and of the widget; the session lives on."""
        if self._later is not None:
            self._later.cancel()
        if self._forget is not None:
            self._forget()
        current.note_closed(self)
        self.desk.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Explorer of {self.session!r}>"

    # -- displays ----------------------------------------------------------------------------------------------------

    def static_html(self) -> str:
        """The whole panel at the session's place as sanitiser-proof HTML: tables and pictures only."""
        return self._static(self.panels)

    def picture(self) -> str:
        """The same of what is in sight: what a notebook keeps.

        It is renewed while somebody works, so the panels out of sight are not worked out for it, and JupyterLab, which
        reads all of it each time, has little to read.
        """
        return self._static({"screen", "source", self.desk.screen.pane} & self.panels.keys(), " open")

    def _static(self, names: Collection[str], opened: str = "") -> str:
        with self.session.inspect.held():
            self.desk.update_all(names)
            shown = {name: panel.static_html() for name, panel in self.panels.items() if name in names}
        first = [NOT_LIVE, shown.pop("screen"), shown.pop("source")]
        framed = [
            "".join(f'<div style="margin:0 0 14px">{part}</div>' for part in parts if part)
            for parts in (first, shown.values())
        ]
        under = f"<details{opened}><summary>Under the hood</summary>{framed[1]}</details>"
        return framed[0] + (under if framed[1] else "")

    def to_html(self, *, title: str = "Maskscope explorer") -> str:
        """The whole panel as one HTML document that opens anywhere and steps through the history without Python."""
        return self.desk.page(title=title)

    def save(self, path: str | Path, *, title: str = "Maskscope explorer") -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        return save_html(path, self.to_html(title=title))

    def _ipython_display_(self) -> None:
        if get_mode() == "static":
            raise NotImplementedError("static displays are made by _repr_mimebundle_")
        picture = self.widget.display(self.picture(), repr(self), {METADATA: self.state()})
        if self._forget is None:
            self._forget = self.session.on_change(lambda _change: self._renew_later())
        self._pictures.append(picture)

    def _renew_later(self) -> None:
        """Bring the pictures in the notebook up to date, which is what one sees of it without a kernel."""
        if self._later is not None:
            self._later.cancel()
        self._later = threading.Timer(LATER_SECONDS, self.renew_pictures)
        self._later.daemon = True
        self._later.start()

    def renew_pictures(self) -> None:
        """Put the present state into the pictures that notebooks keep of this explorer, now."""
        if self.session.model.is_running:  # its end is a change as well
            return
        static, state = self.picture() if self._pictures else "", self.state()
        for picture in self._pictures:
            picture(static, {METADATA: state})
        if self._is_own:
            keep(state)
        self._screen.note_source()

    def state(self) -> State:
        """All that can be restored, as JSON values: the session, its examples, how the panels lie."""
        before = self.panels["kept"]
        assert isinstance(before, KeptPanel)
        return {
            "explorer": before.explorer,
            "session": self.session.to_json(),
            "arrangement": self.desk.arranged(),
            "typed": box_text(self._screen.text()),
        }

    @property
    def _is_own(self) -> bool:
        """Whether a person has done something here, other than look at a recorded run."""
        return bool(self.session.steps) and not self._screen.is_recorded

    @property
    def _screen(self) -> ScreenPanel:
        screen = self.desk.panels["screen"]
        assert isinstance(screen, ScreenPanel)
        return screen

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        twin = {"text/plain": repr(self), "text/html": self.static_html()}
        if get_mode() == "static":
            return twin
        data, _ = self.widget.bundle()
        return {**data, **twin}
