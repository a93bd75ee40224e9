"""The explorer: every panel of a session on one desk, kept at the same place.

`explore()` opens it.  `Session` holds the state, `Desk` keeps the panels at its place, one `Host` carries all of them
to the browser.

Keys: left / right step by token, with shift by byte; Home, End; `/` searches the tokens; `?` shows all keys.

Read on: `workbench/session/session.py`, `workbench/explorer/dashboard.py`, `workbench/panels/base.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from visualizers.host import Host
from visualizers.live_base import LiveView
from visualizers.mode import get_mode
from visualizers.twin import display_with_twin
from workbench.explorer import current
from workbench.explorer.dashboard import Dashboard
from workbench.explorer.export import desk_page
from workbench.languages.examples import EXAMPLES
from workbench.panels.base import Panel
from workbench.panels.screen import ScreenPanel
from workbench.reports.record import save_html
from workbench.screen.gallery import FIRST
from workbench.session import Session

__all__ = ["EXAMPLE_GRAMMAR", "Explorer", "explore", "last"]

EXAMPLE_GRAMMAR = EXAMPLES["ebnf"]


def explore(grammar: object = None, tokenizer: object = "tekken", **options: Any) -> Explorer:
    """Open the explorer on a source and a tokenizer, or on a session you already have; without a source on the first
    entry of the gallery, whose recorded run plays.

    `grammar` is whatever `Session` takes (a text in any language, a JSON schema, tools, a path, a pydantic model).  A
    mistake in it is marked in the editor and can be mended there.  `tokenizer` is whatever `load_tokenizer` takes;
    `options` go to `Session`.  What the person does is in `explorer.session`, readable in the next cell.  The panels
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
    found = current.opened_last()
    if not isinstance(found, Explorer):
        raise LookupError("no explorer is open in this kernel: wb.explore(...) opens one")
    return found


NOT_LIVE: Final = (
    "<div><b>A picture of the explorer, as it was when the cell ran: run the cell to use it.</b> "
    '<span style="font-size:12px;opacity:0.7"><code>explorer.save(path)</code> writes a page that steps through the '
    "text without Python.</span></div>"
)
"""A notebook keeps what a cell showed first: the live panel cannot alter it."""


class Explorer:
    """All panels of `session`, composed; displays itself in a notebook, with a static twin for exports.

    Use it as a context manager, or `close()` it, to let go of its widget.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.desk = Dashboard(session, screen=True, export=desk_page)
        current.note_opened(self)

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
    def selection(self) -> dict[str, Any]:
        """What the person chose in the panel: token, state, rule, pointer, item; None where nothing is."""
        return self.desk.selection

    @property
    def last_error(self) -> Exception | None:
        """What went wrong with the person's last command, if anything."""
        return self.desk.last_error

    def refresh(self) -> None:
        """Draw every panel in sight at the session's place."""
        self.desk.refresh()

    def bring(self, *names: str) -> Explorer:
        """Bring panels to the front of their docks; `ValueError` for a name that no panel has."""
        for name in names:
            self.desk.show(name)
        return self

    def open(self, name: str) -> Explorer:
        """Open an entry of the gallery on the first screen; its recorded run plays."""
        screen = self.desk.panels["screen"]
        assert isinstance(screen, ScreenPanel)
        screen.open(name)
        self.desk.refresh()
        return self

    def under_the_hood(self) -> Explorer:
        """Show the panels, in place of the first screen."""
        self.desk.views["screen"].set_trait("face", "hood")
        return self

    def show(self) -> None:
        """Display the panel in the running cell (as the last line of a cell it displays itself)."""
        from IPython.display import display

        display(self)  # type: ignore[no-untyped-call]

    async def generate(self, model: Any, prompt: str, **options: Any) -> Any:
        """`await session.generate(...)`: the views follow each token, the stop button works, the trace comes back."""
        return await self.session.generate(model, prompt, **options)

    def close(self) -> None:
        """Let go of the session and of the widget; the session lives on."""
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
        with self.session.held():
            self.desk.update_all()
            parts = [NOT_LIVE, *(panel.static_html() for panel in self.panels.values())]
        return "".join(f'<div style="margin:0 0 14px">{part}</div>' for part in parts if part)

    def to_html(self, *, title: str = "Maskscope explorer") -> str:
        """The whole panel as one HTML document that opens anywhere and steps through the history without Python."""
        return self.desk.page(title=title)

    def save(self, path: str | Path, *, title: str = "Maskscope explorer") -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        return save_html(path, self.to_html(title=title))

    def _ipython_display_(self) -> None:
        if get_mode() == "static":
            raise NotImplementedError("static displays are made by _repr_mimebundle_")
        display_with_twin(self.widget, self.static_html(), repr(self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        twin = {"text/plain": repr(self), "text/html": self.static_html()}
        if get_mode() == "static":
            return twin
        data, _ = self.widget.bundle(**kwargs)
        return {**data, **twin}
