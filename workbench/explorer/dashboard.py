"""The desk: all panels of one session on one host, at the same place: the screen with its text, and what is below it.

A person's commands arrive here from whatever panel they were given in, move the session, and every panel in sight is
brought up to date; what changed goes to the browser as one message.  A panel that is not in sight is left alone until
it comes into sight.

Read on: `workbench/panels/base.py` (panels), `visualizers/host.py` (the widget), `workbench/explorer/explorer.py` (what
a person opens).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, cast

from kernels_core.locks import new_reentrant_lock
from visualizers.glyphs import box_text, parse
from visualizers.host import Host
from visualizers.live_base import LiveView, picked
from visualizers.screen import PLACE, ScreenView
from workbench.explorer.position_ids import Places
from workbench.languages import Draft, Source
from workbench.panels import panel_types
from workbench.panels.base import Panel, Selection
from workbench.panels.screen import ScreenPanel
from workbench.provenance import SourcePlace
from workbench.provenance.rules import called
from workbench.session import Change, Session
from workbench.session.history import Place, Unit
from workbench.session.result import Reading

REFRESH_SECONDS = 1 / 15
"""While a generation runs the panels are drawn at most this often; the session itself follows every token."""

SELECTION: Final[Selection] = {"token": None, "state": None, "rule": None, "pointer": None, "item": None}
OF_THE_GRAMMAR: Final = ("state", "rule", "pointer")
"""What is chosen of the grammar, at one place of the text."""
SELECTED: Final = "shared__selection"
"""The host's trait for what is chosen."""

Command = Callable[[dict[str, Any]], None]


class Dashboard:
    """The panels of `session`; see `workbench.panels.base.Desk` for what a panel may ask of it.

    `panels` are classes of panels beside the screen itself (default: all there are).  `export`: writes it as a page
    with a title.  `close()` lets go of the session.
    """

    def __init__(
        self,
        session: Session,
        panels: Iterable[type[Panel]] | None = None,
        *,
        export: Callable[[Dashboard, str], str] | None = None,
    ) -> None:
        self.session = session
        self._export = export
        self.last_error: Exception | None = None
        # The text in the box and its fate, where the box holds more than the text read.
        self._typed: str | None = None
        self._reading: Reading | None = None
        self._handling = False
        self._drawn = 0.0
        self._drawing = new_reentrant_lock()
        self._places = Places()
        self._chosen_at = -1  # the place at which the selection was made
        self._chosen_in = (-1, b"")  # the text in which it was made: the number of its end, and what is refused of it
        self._fresh: set[str] = set()
        self._stale: set[str] = set()
        self._commands: dict[str, Command] = {
            "source": self._do_source,
            "prefix": self._do_prefix,
            "move": self._do_move,
            "goto": lambda message: self._place(lambda: session.goto(int(message["index"]))),
            "token": lambda message: self._place(lambda: session.step(int(message["id"]))),
            "text": lambda message: self._place(lambda: session.edits.type(message["text"])),
            "open": self._do_open,
            "undo": lambda message: self._restored(session.undo),
            "redo": lambda message: self._restored(session.redo),
            "stop": lambda message: session.model.stop(),
            "select": lambda message: self.select(**message),
        }
        self.forbids: tuple[SourcePlace, ...] = ()
        chosen: tuple[type[Panel], ...] = panel_types() if panels is None else (ScreenPanel, *panels)
        self.panels: dict[str, Panel] = {}
        self._selection = SELECTION.copy()
        self._selecting: list[Callable[[Selection], object]] = []
        for kind in dict.fromkeys(chosen):
            self.panels[kind.name] = kind(self)
        self.views: dict[str, LiveView[Any]] = {}
        for panel in self.panels.values():
            for name, view in panel.views.items():
                if name in self.views:
                    raise ValueError(f"two views are called {name!r}")
                self.views[name] = view
        self.host = Host(
            self.views,
            arranger="screen",
            panels=[
                picked(panel, "name", "title", "tab", "wide")
                | {"about": (panel.__doc__ or "").partition("\n")[0], "views": list(panel.views)}
                for panel in self.panels.values()
            ],
            selection=self._selection,
        )
        for panel in self.panels.values():
            panel.listen()
        self.host.observe(self._arranged, names="asleep")
        self.host.observe(self._selected, names=SELECTED)
        self.screen.observe(self._arranged, names="pane")
        self._forget = session.on_change(self._on_change)
        session.edits.watch()
        self.refresh()

    # -- what panels ask ---------------------------------------------------------------------------------------------

    @property
    def selection(self) -> Selection:
        return self._selection.copy()

    def on_select(self, handler: Callable[[Selection], object]) -> Callable[[], None]:
        """Call `handler(selection)` whenever something else is chosen; returns what ends it."""
        self._selecting.append(handler)
        return lambda: self._selecting.remove(handler) if handler in self._selecting else None

    @property
    def typed(self) -> str | None:
        """The text in the text box where that is not simply the text read."""
        return self._typed if self._at_end() else None

    @property
    def reading(self) -> Reading | None:
        return self._reading if self._at_end() else None

    def _at_end(self) -> bool:
        """Whether the session stands where the text ends that was typed."""
        return self.session.index == len(self.session.steps)

    @property
    def trouble(self) -> str:
        return "" if self.last_error is None else str(self.last_error) or type(self.last_error).__name__

    @property
    def troubles(self) -> dict[str, str]:
        """What went wrong in panels when they were last brought up to date, by panel; it is shown in their place."""
        return dict(self.host.troubles)

    def do(self, kind: str, **args: Any) -> None:
        """Perform a person's command; whatever goes wrong is shown in the panel (and kept in `last_error`)."""
        self._handling, self.last_error = True, None
        try:
            command = self._commands.get(kind)
            if command is None:
                raise ValueError(f"the desk knows no command {kind!r}")
            command(args)
        except Exception as error:
            self.last_error = error
        finally:
            self._handling = False
        self.refresh("place")

    def page(self, *, title: str = "Maskscope explorer") -> str:
        """The desk as one HTML document that opens anywhere and steps through the history without Python."""
        if self._export is None:
            raise NotImplementedError("nobody writes this desk as a page: open it by `wb.explore`")
        return self._export(self, title)

    @property
    def screen(self) -> ScreenView:
        """The screen's own view."""
        view = self.views["screen"]
        assert isinstance(view, ScreenView)
        return view

    def show(self, name: str) -> None:
        """Bring panel `name` into sight, below the text; the screen and the source are there with "place"."""
        if name not in self.panels:
            raise ValueError(f"there is no panel {name!r}: {', '.join(self.panels)}")
        tab = self.panels[name].tab
        with self.host.hold_sync():
            if tab == "hood":
                self.screen.hood = True
            self.screen.pane = name if tab else PLACE

    def arrange(self, arrangement: Mapping[str, object]) -> None:
        """Have in sight what `arranged` told of; of panels that there are not any more, nothing."""
        pane, hood = arrangement.get("pane"), arrangement.get("hood")
        if isinstance(pane, str) and (pane == PLACE or pane in self.panels):
            self.screen.pane = pane
        if isinstance(hood, bool):
            self.screen.hood = hood

    def arranged(self) -> dict[str, Any]:
        """What is in sight, for `arrange`."""
        return {"pane": self.screen.pane, "hood": self.screen.hood}

    def select(self, **chosen: int | str | None) -> None:
        """Change some keys of the selection; the others stay."""
        self._choose(self._with(chosen), with_state="state" in chosen)

    def in_sight(self) -> set[str]:
        """Names of the panels that can be seen now: none while the whole screen is scrolled away."""
        if self.host.asleep:
            return set()
        return {name for name, panel in self.panels.items() if not panel.tab or name == self.screen.pane}

    # -- bringing up to date -----------------------------------------------------------------------------------------

    def refresh(self, change: Change | None = None) -> None:
        """Bring every panel in sight up to date at the session's place."""
        # Always in this order, so that a generation in another thread and a click cannot wait for each other.
        with self.session.inspect.held(), self._drawing, self.host.hold_sync():
            self._fresh.clear()
            self._update(self.in_sight(), change)
            self._drawn = time.monotonic()

    def update_all(self, names: Iterable[str] | None = None) -> None:
        """Bring panels up to date, in sight or not, for a picture of them; default: all."""
        with self.session.inspect.held(), self._drawing, self.host.hold_sync():
            self._fresh.discard("screen")  # it leaves out what is not in sight
            self._update(set(self.panels if names is None else names), None)

    def _update(self, names: set[str], change: Change | None) -> None:
        self._let_go()
        before = self.forbids
        troubles = {name: text for name, text in self.host.troubles.items() if name not in names}
        for name, panel in self.panels.items():
            if name not in names or name in self._fresh:
                continue
            stale = name in self._stale
            self._stale.discard(name)
            for view in panel.views.values():
                view.written = partial(called, self.session.document)
            try:
                panel.update(None if stale else change)
            except Exception as error:  # one panel's trouble is not another's
                troubles[name] = f"{type(error).__name__}: {error}"
                self._stale.add(name)
                continue
            self._fresh.add(name)
            if name == "screen" and self.forbids != before:
                self._fresh.discard("source")
        self._stale |= set(self.panels) - self._fresh
        self.host.troubles = troubles
        if names:  # a desk that nobody sees shows the place at which it was seen last
            self.host.place = self._where()

    def _where(self) -> dict[str, Any]:
        """The place for the browser: its number and those around it, and which views show it."""
        session = self.session
        # With a refused text in the box, a remark, an error or a run, what is seen is not the place's alone.
        reading = self.reading
        plain = reading is None or (reading.ok and not reading.note)
        plain = plain and (self.typed is None or self.typed == box_text(session.text))
        plain = plain and self.last_error is None and not session.model.is_running
        number = self._places.number(session.place, session.steps)
        return {
            "key": number if plain else None,
            "number": number,
            "index": session.index,
            "around": self._places.around(session.place, session.steps),
            "fresh": [view for name in self._fresh for view in self.panels[name].views],
        }

    def _arranged(self, _change: object) -> None:
        """A panel came into sight."""
        with self.session.inspect.held(), self._drawing, self.host.hold_sync():
            self._fresh.discard("screen")
            self._update(self.in_sight(), "place")

    # -- the selection -----------------------------------------------------------------------------------------------

    def _selected(self, change: Mapping[str, Any]) -> None:
        """The browser or a cell chose something."""
        new = change["new"]
        self._choose(self._with(new) if isinstance(new, dict) else self._selection)

    def _with(self, chosen: Mapping[str, object]) -> Selection:
        """The selection with some keys changed."""
        return cast("Selection", {**self._selection, **chosen})

    def _choose(self, selection: Selection, *, with_state: bool = False) -> None:
        """`with_state`: the state was chosen with the others, though it may be the one of before."""
        if selection == self._selection:
            return
        changed = {name for name in OF_THE_GRAMMAR if selection.get(name) != self._selection.get(name)}
        if changed and "state" not in changed and not with_state:  # another rule or place is chosen, not this state
            selection = cast("Selection", {**selection, "state": None})
        with self.session.inspect.held(), self._drawing, self.host.hold_sync():
            self._hold(selection)
            self._fresh &= self.in_sight()  # the others look at the selection when they come into sight
            for name in sorted(self._fresh):
                self.panels[name].chosen()
        self._told(selection)

    def _hold(self, selection: Selection) -> None:
        self._selection = selection
        setattr(self.host, SELECTED, selection)

    def _told(self, selection: Selection) -> None:
        for heard in list(self._selecting):
            heard(selection.copy())

    def _let_go(self) -> None:
        """After a step nothing of the grammar is chosen any more; a token still is, until the text becomes another."""
        steps, reading = self.session.steps, self._reading
        number = self._places.number(self.session.place, steps)
        refused = b"" if reading is None else reading.text[reading.read :]
        text = (self._places.number(Place(len(steps)), steps), refused)
        gone: tuple[str, ...] = OF_THE_GRAMMAR if number != self._chosen_at else ()
        gone = gone if text == self._chosen_in else (*gone, "token")
        self._chosen_at, self._chosen_in = number, text
        selection = self._with(dict.fromkeys(gone))
        if selection != self._selection:
            self._hold(selection)
            self._told(selection)

    # -- commands ----------------------------------------------------------------------------------------------------

    def _do_source(self, message: dict[str, Any], *, anew: bool = False) -> None:
        session, draft = self.session, self.session.edits.draft
        wanted = box_text(session.text) if self.typed is None else self.typed
        text, language = str(message["text"]), message.get("language")
        document = session.document if draft is None else draft.source
        options = message.get("options")
        if options is None and language in (None, document.language):
            typed = document.with_text(text)
        else:
            typed = Source(language or document.language, text, dict(options or {}), document.name if options else "")
        reading = session.edits.source(typed, anew=anew)
        if isinstance(reading, Draft):
            return
        self._renew()
        if self.typed is not None:  # what died before may live now
            reading = self.session.read(parse(wanted))
        self._typed, self._reading = wanted, reading

    def _do_open(self, message: dict[str, Any]) -> None:
        """Another source begins with an empty text and no examples; taken back, the former is there again."""
        session = self.session
        session.model.leave()
        with session.edits.as_one():
            session.edits.begin_anew()
            session.edits.memo = message.get("memo")
            self._typed = self._reading = None
            self._do_source(message, anew=True)

    def _do_prefix(self, message: dict[str, Any]) -> None:
        self._typed, self._reading = str(message["text"]), None
        self._reading = self.session.edits.read(parse(self._typed), as_written=True)

    def _restored(self, restore: Callable[[], Reading | None]) -> None:
        """A text of before is there again, with what was refused of it, and perhaps another source or vocabulary."""
        compiled, draft = self.session.inspect.compiled, self.session.edits.draft
        reading = restore()
        if reading is not None:
            self._typed, self._reading = (None, None) if reading.ok else (box_text(reading.text), reading)
        if self.session.inspect.compiled is not compiled or self.session.edits.draft is not draft:
            self._renew()

    def _do_move(self, message: dict[str, Any]) -> None:
        by: Unit = "byte" if message.get("by") == "byte" else "token"
        moves: dict[str, Callable[[], object]] = {
            "back": lambda: self.session.back(by),
            "forward": lambda: self.session.forward(by),
            "first": lambda: self.session.goto(0),
            "last": lambda: self.session.goto(len(self.session.steps)),
        }
        self._place(moves[message["to"]])

    def _place(self, move: Callable[[], object]) -> None:
        """Move within the history, or step on in place of what was typed and died."""
        move()
        self._forget_typed()

    def _forget_typed(self) -> None:
        """What is in the text box is the session's text, unless what was refused of it is still there."""
        reading, refused = self._reading, self.session.edits.refused
        if reading is None or not refused or reading.text[reading.read :] != refused:
            self._typed = self._reading = None

    def _renew(self) -> None:
        """Another grammar or tokenizer: nothing of the old one is up to date."""
        self._places.renew()
        self._stale = set(self.panels)

    # -- what the session tells --------------------------------------------------------------------------------------

    def _on_change(self, change: Change) -> None:
        if self._handling and change != "run":
            return  # drawn once, when the command is done
        if change in ("grammar", "tokenizer"):
            self._selection = self._with({"token": None})
            self._renew()
        if change != "run":
            self._forget_typed()
        if change == "place" and self.session.model.is_running and time.monotonic() - self._drawn < REFRESH_SECONDS:
            return  # beginning and end of a run are always drawn
        self.refresh(change)

    def close(self) -> None:
        """Let go of the session, the panels and the widget; the session lives on."""
        self._forget()
        for panel in self.panels.values():
            panel.close()
        self.host.close()
