"""The explorer: every view of a session in one panel, kept at the same place.

`explore()` opens it.  The panel is nothing but composition: `Session` holds the state, `workbench.desk` the editor and
the stepper, `visualizers.live` the pictures.  A change of the session reaches the explorer as one callback; it asks for
the snapshots once and hands them to the views, and each view sends the browser only what differs.

Keys: left / right step by token, with shift by byte; Home, End; `/` searches the tokens.

Read on: `workbench/session.py`, `workbench/desk.py`, `visualizers/live.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets

from visualizers import html
from visualizers.glyphs import glyph
from visualizers.live import (
    AutomatonView,
    CounterView,
    FrontierView,
    LiveView,
    MaskMap,
    OperationView,
    TokenTable,
    to_page,
)
from visualizers.mode import get_mode
from workbench.desk import GrammarEditor, State, Stepper, box_bytes, box_text, editor_state, stepper_state
from workbench.history import Unit
from workbench.languages import Draft
from workbench.reading import Reading
from workbench.session import Change, Session
from workbench.strip import grammar_html, ribbon_html, save_html

__all__ = ["EXAMPLE_GRAMMAR", "Explorer", "explore"]

EXAMPLE_GRAMMAR = r"""# A small language of calls: edit it and see.
root   ::= call
call   ::= "call " name "(" args? ")"
name   ::= [a-z]+
args   ::= value (", " value)*
value  ::= number | string | call
number ::= "-"? [0-9]+ ("." [0-9]+)?
string ::= "\"" [a-zA-Z0-9 ]* "\""
"""

REFRESH_SECONDS = 1 / 15
"""While a generation runs the views are drawn at most this often; the session itself follows every token."""


def explore(grammar: Any = None, tokenizer: Any = "tekken", **options: Any) -> Explorer:
    """Open the explorer on a source and a tokenizer, or on a session you already have.

    `grammar` is whatever `Session` takes (a text in any language, a JSON schema, tools, a path, a pydantic model; a
    small example when None).  A mistake in it is marked in the editor and can be mended there.  `tokenizer` is whatever
    `load_tokenizer` takes; `options` go to `Session`.  What the person does is in `explorer.session`, readable in the
    next cell.
    """
    if isinstance(grammar, Session):
        return Explorer(grammar)
    return Explorer(Session.opened(EXAMPLE_GRAMMAR if grammar is None else grammar, tokenizer, **options))


class Explorer:
    """All views of `session`, composed; displays itself in a notebook, with a static twin for exports.

    Use it as a context manager, or `close()` it, to let go of its widgets.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.last_error: Exception | None = None
        # The text in the box and its fate, where the box holds more than the text read.
        self._typed: str | None = None
        self._reading: Reading | None = None
        self._selected: int | None = None
        self._handling = False
        self._recount = True
        self._drawn = 0.0
        self._drawing = threading.RLock()
        self._answers: dict[str, State] = {"editor": {}, "stepper": {}}

        self.editor = GrammarEditor()
        self.stepper = Stepper()
        self.automaton = AutomatonView(session.automaton())
        self.frontier = FrontierView()
        self.operations = OperationView()
        self.tokens = TokenTable()
        self.mask = MaskMap()
        self.counters = CounterView()
        self.widget = self._compose()
        self._commands: dict[str, Callable[[dict[str, Any]], None]] = {
            "grammar": self._do_grammar,
            "prefix": self._do_prefix,
            "move": self._do_move,
            "goto": lambda message: self._place(lambda: session.goto(int(message["index"]))),
            "token": lambda message: self._place(lambda: session.step_token(int(message["id"]))),
            "stop": lambda message: session.stop(),
        }
        self.editor.on_command(self._handle)
        self.stepper.on_command(self._handle)
        self.tokens.observe(self._token_chosen, names="selected_token")
        self._forget = session.on_change(self._on_change)
        self.refresh()

    # -- what a person calls -----------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw every view at the session's place."""
        session = self.session
        # Always in this order, so that a generation in another thread and a click cannot wait for each other.
        with session.held(), self._drawing:
            stepper = stepper_state(
                session,
                typed=self._typed,
                reading=self._reading,
                trouble=self._trouble(),
                running=session.is_running,
            )
            stepper["selected"] = self._explain_selected()
            editor = editor_state(session)
            self.editor.state = {**editor, **self._answers["editor"]}
            self.stepper.state = {**stepper, **self._answers["stepper"]}
            self.automaton.show(session.frontier())
            self.frontier.show(session.frontier())
            self.operations.show(session.operations())
            self.tokens.show(session.token_sets())
            self.mask.show(session.token_sets())
            stats = session.cache_stats()
            if self._recount:  # another grammar counts from its own beginning
                self.counters.show(stats)
                self._recount = False
            self.counters.show(stats)
            self._drawn = time.monotonic()

    async def generate(self, model: Any, prompt: str, **options: Any) -> Any:
        """`await session.generate(...)`: the views follow each token, the stop button works, the trace comes back."""
        return await self.session.generate(model, prompt, **options)

    def close(self) -> None:
        """Let go of the session and of every widget; the session lives on."""
        self._forget()
        boxes = [self.widget]
        while boxes:
            box = boxes.pop()
            for child in getattr(box, "children", ()):
                boxes.append(child)
            box.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Explorer of {self.session!r}>"

    # -- the person's doings -----------------------------------------------------------------------------------------

    def _handle(self, message: dict[str, Any]) -> None:
        """Do what the browser asks.  Whatever goes wrong is shown in the panel, never raised into the kernel's log."""
        command = self._commands.get(message["kind"])
        if command is None:
            return
        self._handling, self.last_error = True, None
        try:
            command(message)
        except Exception as error:
            self.last_error = error
        finally:
            self._handling = False
        self.refresh()

    def _do_grammar(self, message: dict[str, Any]) -> None:
        self._answers["editor"] = {"client": message.get("client"), "seq": message.get("seq")}
        wanted = box_text(self.session.text) if self._typed is None else self._typed
        draft = self.session.draft
        typed = (self.session.document if draft is None else draft.source).with_text(str(message["text"]))
        reading = self.session.edit(typed)
        if isinstance(reading, Draft):
            return
        self._new_grammar()
        if self._typed is not None:  # what died before may live now
            reading = self.session.set_prefix(box_bytes(wanted))
        self._typed, self._reading = wanted, reading

    def _do_prefix(self, message: dict[str, Any]) -> None:
        self._answers["stepper"] = {"client": message.get("client"), "seq": message.get("seq")}
        self._typed, self._reading = str(message["text"]), None
        self._reading = self.session.set_prefix(box_bytes(self._typed))

    def _do_move(self, message: dict[str, Any]) -> None:
        by: Unit = "byte" if message.get("by") == "byte" else "token"
        moves: dict[str, Callable[[], Any]] = {
            "back": lambda: self.session.back(by),
            "forward": lambda: self.session.forward(by),
            "first": lambda: self.session.goto(0),
            "last": lambda: self.session.goto(len(self.session.steps)),
        }
        self._place(moves[message["to"]])

    def _place(self, move: Callable[[], Any]) -> None:
        """Move within the history or step on: what was typed and died is gone from the box."""
        move()
        self._typed = self._reading = None

    def _token_chosen(self, change: Any) -> None:
        self._selected = change["new"]
        with self.session.held(), self._drawing:
            self.stepper.state = {**self.stepper.state, "selected": self._explain_selected()}

    # -- what the session tells --------------------------------------------------------------------------------------

    def _on_change(self, change: Change) -> None:
        if self._handling and change != "run":
            return  # drawn once, when the command is done
        if change in ("grammar", "tokenizer"):
            self._selected = None
            self._new_grammar()
        self._typed = self._reading = None
        if change == "place" and self.session.is_running and time.monotonic() - self._drawn < REFRESH_SECONDS:
            return  # beginning and end of a run are always drawn
        self.refresh()

    def _new_grammar(self) -> None:
        self.automaton.automaton = self.session.automaton()
        self._recount = True

    def _trouble(self) -> str:
        return "" if self.last_error is None else str(self.last_error) or type(self.last_error).__name__

    def _explain_selected(self) -> State | None:
        """The token chosen in the table and whether it can come here, for the stepper."""
        info = self.session.tokenizer.info
        if self._selected is None or not 0 <= self._selected < info.vocab_size:
            return None
        reading = self.session.explain(self._selected)
        text = glyph(bytes(info.decoded_vocab[self._selected])) or "(no bytes)"
        why = (reading.note or "allowed here") if reading.ok else reading.note or reading.message
        return {"id": self._selected, "text": text, "ok": reading.ok, "why": why}

    # -- displays ----------------------------------------------------------------------------------------------------

    def _compose(self) -> ipywidgets.Box:
        """The views in reading order; the style sheet puts them in two columns where there is room."""
        ipywidgets.jslink((self.tokens, "selected_token"), (self.mask, "selected_token"))
        self.editor.add_class("mx-side")
        self.stepper.add_class("mx-wide")
        self.counters.add_class("mx-last")
        left, right = (
            ipywidgets.Box((self.frontier, self.operations, self.counters)),
            ipywidgets.Box((self.tokens, self.mask)),
        )
        left.add_class("mx-column")
        right.add_class("mx-column")
        grid = ipywidgets.Box((self.editor, self.automaton, self.stepper, left, right))
        grid.add_class("mx-grid")
        outer = ipywidgets.Box((grid,))
        outer.add_class("mx-explorer")
        return outer

    def static_html(self) -> str:
        """The whole panel at the session's place as sanitiser-proof HTML: tables and pictures only."""
        session = self.session
        with session.held():
            parts = [
                grammar_html(session.source),
                ribbon_html(session, self._reading),
                html.automaton(session.automaton(), active=session.frontier().active_states()),
                html.frontier(session.frontier()),
                html.operations(session.operations()),
                html.token_sets(session.token_sets()),
                html.cache_stats(session.cache_stats()),
            ]
        return "".join(f'<div style="margin:0 0 14px">{part}</div>' for part in parts)

    def to_html(self, *, title: str = "Maskscope explorer") -> str:
        """The pictures at the session's place as one HTML document that opens anywhere, without Python."""
        views: list[LiveView[Any]] = [self.automaton, self.frontier, self.tokens, self.mask]
        return to_page([*views, self.operations, self.counters], title=title)

    def save(self, path: str | Path, *, title: str = "Maskscope explorer") -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        return save_html(path, self.to_html(title=title))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        twin = {"text/plain": repr(self), "text/html": self.static_html()}
        if get_mode() == "static":
            return twin
        return {**self.widget._repr_mimebundle_(**kwargs), **twin}
