"""A session: one grammar, one tokenizer, and a place in a text, with everything the parser knows there.

`Session` is a plain object without widgets.  One moves through a text by token or by byte, and asks what the parser is
doing there: `session.inspect` has the questions (`frontier`, `next`, `why`, ...), `session.edits` what changes the text
beyond the methods here, `session.model` a generation that steps the session.  Views register with `on_change` and all
read the same place, so they can never disagree.

An operation that raises leaves the session as it was.  Every public method takes the session's lock, so a generation
may step it from a background thread while a cell reads it; callbacks run after the lock is released, in the thread that
made the change.

Read on: `core.py` (what all parts share), `history.py` (the tape), `workbench/explorer/explorer.py` (the views).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernels_core import Options
from kernels_core.compiler import told_elsewhere
from kernels_core.display import Displayed, drawn
from kernels_core.errors import MaskscopeError
from workbench.languages import NOTHING, Source
from workbench.languages.not_a_schema import draft_of_example
from workbench.languages.warnings import warn_of
from workbench.session.core import Change, Core, Here
from workbench.session.edits import Edits
from workbench.session.examples import MAX_EXAMPLES, Example
from workbench.session.file import KeptError, Saved, read_saved
from workbench.session.history import Unit
from workbench.session.inspector import Inspector
from workbench.session.matching import as_unit
from workbench.session.result import Reading
from workbench.session.run import ModelLoop
from workbench.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from workbench.generation import LanguageModel
    from workbench.generation.model import Prompt
    from workbench.session.trace import Trace

__all__ = ["Change", "Session"]


class Session(Here, Displayed):
    """A grammar, a tokenizer and a place in a text.

    `grammar` is whatever `workbench.languages.Source.of` takes: EBNF, Lark, a regular expression, a JSON schema (dict,
    text, pydantic model), a structural tag, a list of tools, a path to one of these, a `Grammar`.  `language` names the
    language of a text where the guess would be wrong; `reading` are its options (`order="declared"`, `flags="i"`).
    `tokenizer` is whatever `workbench.load_tokenizer` takes, `options` are the engine's.

    Raises `GrammarError` or `UnsupportedSchemaError` for a bad grammar, with a note of each place at fault, and
    `TokenizerError` for a vocabulary that cannot be read.  `Session.opened` keeps a bad grammar as a draft instead.

    Thread safety: see the module's docstring.
    """

    inspect: Inspector
    """Questions to the parser at this place."""
    edits: Edits
    """Whatever else changes the text or the grammar, and the continuations that edits dropped."""
    model: ModelLoop
    """A generation that steps the session: whether one does, how to stop it, one in the background."""

    def __init__(
        self,
        grammar: object,
        tokenizer: object = "tekken",
        *,
        language: str | None = None,
        options: Options | None = None,
        **reading: object,
    ) -> None:
        loaded = load_tokenizer(tokenizer)
        self._core = Core(Source.of(grammar, language, **reading), loaded, options or Options())
        warn_of(self.document, self._core.compiled.grammar)
        self.inspect = Inspector(self._core)
        self.edits = Edits(self._core, self.inspect)
        self.model = ModelLoop(self._core, self.inspect, self.edits, self)

    @classmethod
    def opened(
        cls,
        grammar: object,
        tokenizer: object = "tekken",
        *,
        language: str | None = None,
        options: Options | None = None,
        **reading: object,
    ) -> Session:
        """A session on whatever it is, which warns of nothing, also on a mistake: then `edits.draft` holds the source
        and its mistakes, and until it is mended (`edits.source`) only the empty text is allowed."""
        source = Source.of(grammar, language, **reading)
        loaded = load_tokenizer(tokenizer)
        try:
            if draft_of_example(source, NOTHING) is None:
                with told_elsewhere():
                    return cls(source, loaded, options=options)
        except MaskscopeError:
            pass  # told with the draft
        session = cls(NOTHING, loaded, options=options)
        session.edits.source(source)
        return session

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def index(self) -> int:
        """Whole steps taken so far: the one number by which views are linked."""
        return self._core.place.index

    def on_change(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call `callback(change)` after every change; returns a function that ends it.

        Callbacks run in the thread that made the change.  If one raises, the others still run, then the error goes to
        the caller; the session's own state is settled by then.
        """
        return self._core.on_change(callback)

    def __repr__(self) -> str:
        from workbench.provenance.rules import written

        core, about = self._core, self.inspect
        with core.lock:
            text, position, state = about.text, about.position, ""
            if about.is_terminated:
                state = ", stopped"
            elif about.is_completed:
                state = ", may end here"
            shown = text if len(text) <= 40 else b"..." + text[-37:]
            return (
                f"<Session: {written(about)}, {about.vocabulary}, {core.tokenizer.info.vocab_size:,} tokens; "
                f"step {self.index} of {len(core.tape)}, byte {position}: {shown.decode(errors='replace')!r}{state}>"
            )

    def _repr_html_(self) -> str | None:
        with self._core.lock:
            return super()._repr_html_()

    # -- reading and moving ------------------------------------------------------------------------------------------

    def step(self, what: str | bytes | int) -> Session:
        """Read a text (one step), bytes (one step) or a token by its id, in the place of what had been undone
        (`edits.kept`).  A stop token is one, too.

        Raises `StepError`, which tells where the text dies and what was possible there.
        """
        self.edits.step(what)
        return self

    def read(self, text: str | bytes, by: Unit = "token") -> Reading:
        """Read `text` from the beginning, as far as the grammar allows, and make that the history.

        The steps are the tokenizer's tokens when `by` is "token", single bytes when "byte".  Never raises for a text
        that dies: the `Reading` says at which byte, what was read and what was possible there, and the session stands
        just before that byte.
        """
        return self.edits.read(text, by)

    def back(self, by: Unit = "token") -> bool:
        """Go back one token (or byte) without forgetting it; False at the beginning."""
        return self._core.move_to(lambda: self._core.tape.before(self._core.place, as_unit(by)))

    def forward(self, by: Unit = "token") -> bool:
        """Go forward again to where one was before; False at the end of the history."""
        return self._core.move_to(lambda: self._core.tape.after(self._core.place, as_unit(by)))

    def goto(self, index: int) -> Session:
        """Go to the place after `index` steps of the history; IndexError outside it."""
        self._core.move_to(lambda: self._core.tape.place(index))
        return self

    def seek(self, prefix: int | str | bytes) -> Session:
        """Make the text read be `prefix`, or go to a byte position of the history.

        Unlike `read`, a text the grammar refuses raises `StepError` and changes nothing.
        """
        if isinstance(prefix, (int, np.integer)):
            self._core.move_to(lambda: self._core.tape.place_at(int(prefix)))
        else:
            self.edits.seek(prefix)
        return self

    def undo(self) -> Reading | None:
        """Make the text what it was before the last edit, with what was refused then; None where there was none.

        A generation or another tokenizer is one edit, and source, tokenizer and trace are then those of before, too.
        `back` only moves through the history.
        """
        return self.edits.undo()

    def redo(self) -> Reading | None:
        """Do the edit again that was taken back last; None where there is none."""
        return self.edits.redo()

    # -- examples ----------------------------------------------------------------------------------------------------

    @property
    def examples(self) -> tuple[Example, ...]:
        """Texts that must and must not be taken (`inspect.examples` judges them); they are kept with the session."""
        return self._core.examples

    @examples.setter
    def examples(self, examples: Iterable[Example | tuple[str, bool]]) -> None:
        found = tuple(one if isinstance(one, Example) else Example(*one) for one in examples)
        if len(found) > MAX_EXAMPLES:
            raise ValueError(f"{len(found)} examples: a session keeps at most {MAX_EXAMPLES}")
        self._core.examples = found

    # -- replacing the grammar and the tokenizer ---------------------------------------------------------------------

    def set_grammar(self, grammar: object, *, language: str | None = None, **reading: object) -> Reading:
        """Compile another grammar (see `Session`) and read the present text under it, as far as it goes.

        EBNF text keeps the present root rule's name, unless `root_rule_name` says another.

        A grammar that does not compile raises, with a note of each place at fault, and changes nothing.
        """
        reading_of_text = self.edits.set_grammar(grammar, language=language, **reading)
        warn_of(self.document, self._core.compiled.grammar)
        return reading_of_text

    def set_tokenizer(self, tokenizer: object) -> Reading:
        """Take another vocabulary; the grammar stays, and the text is cut into the new tokens."""
        return self.edits.set_tokenizer(tokenizer)

    # -- a model in the loop -----------------------------------------------------------------------------------------

    async def generate(
        self, model: LanguageModel, prompt: Prompt, *, constrained: bool = True, pace: float = 0.0, **options: Any
    ) -> Trace:
        """Let a model write from the beginning, token by token, with every view following; `await` it in a cell.

        The session takes the model's vocabulary and starts afresh, with the members of a schema in declared order
        unless an order was said (`Source.for_a_model`).  With `constrained=False` the model is free, and
        the session reads along until the grammar refuses.  `pace` seconds are waited after each token, to watch a quick
        model; `options` are those of `workbench.generate` (`max_tokens`, `temperature`, `seed`, ...).  Buttons work
        meanwhile; `model.stop()`, or moving the session, ends it before the next token.  However it ends, `trace` is
        what there is.
        """
        return await self.model.generate(model, prompt, constrained=constrained, pace=pace, **options)

    def run(self, model: LanguageModel, prompt: Prompt, *, constrained: bool = True, **options: object) -> Trace:
        """`generate` for a script: blocks until done.  In a notebook only the kernel's stop button can end it."""
        return self.model.run(model, prompt, constrained=constrained, **options)

    @property
    def trace(self) -> Trace | None:
        """The trace of the last generation, also of one that was interrupted or failed."""
        return self.model.trace

    # -- what it can be turned into ----------------------------------------------------------------------------------

    def show(self) -> Any:
        """Open the explorer on this session; as the last line of a cell it displays itself."""
        return drawn(self, "live")

    def to_json(self) -> dict[str, Any]:
        """The session as JSON values: see `workbench/session/file.py`."""
        core = self._core
        with core.lock:
            draft = None if core.draft is None else core.draft.source
            kept = (core.tape.steps, core.place, core.examples)
            return Saved(core.document, draft, core.tokenizer, core.options, *kept).to_json()

    def save(self, path: str | Path) -> Path:
        """Write the session to a `.json` file (`Session.load` opens it), or its whole panel to an `.html` page that
        steps through the history without Python; returns the path."""
        path = Path(path)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.to_json(), ensure_ascii=False, indent=1), encoding="utf-8")
            return path
        if path.suffix.lower() in (".html", ".htm"):
            with self.show() as explorer:
                return Path(explorer.save(path))
        raise ValueError(f"cannot save a session as {path.suffix or 'a file without suffix'!r}: use .json or .html")

    @classmethod
    def load(
        cls, source: str | Path | Mapping[str, object], tokenizer: object = None, *, options: Options | None = None
    ) -> Session:
        """The session of a file that `save` wrote (or of what `to_json` returned), at the place where it stood.

        `tokenizer` is needed where the session's own had no name or path to find it by.  `options` are taken in place
        of the file's own, whose limits of time and memory are held to the defaults, with a warning where it asks for
        more.  `KeptError` says what is wrong with a file.
        """
        saved = read_saved(source, tokenizer, options)
        with told_elsewhere():
            session = cls(saved.source, saved.tokenizer, options=saved.options)
        session.examples = saved.examples
        for step in saved.steps:
            session.step(step.data if step.token_id is None else step.token_id)
        if saved.draft is not None:
            session.edits.source(saved.draft)
        try:
            session.goto(saved.place.index)
        except IndexError as error:
            raise KeptError(f"the place of this session: {error}") from None
        for _ in range(saved.place.offset):
            session.forward("byte")
        return session

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A name of before, for one version."""
            if name not in MOVED:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if name not in _said:
                _said.add(name)
                said = f"session.{name} is session.{MOVED[name]} now, and goes with the next version"
                warnings.warn(said, DeprecationWarning, stacklevel=2)
            return attrgetter(MOVED[name])(self)


INSPECTED: Final = """
allowed_array allowed_ids allowed_tokens automaton cache_record cache_stats call_stack compiled
compiler derivation explain fills frontier grammar is_terminated mask matcher members modes next
next_bytes operations options position refusals rest_callers to_svg token_sets vocabulary why
"""
MOVED: Final = {
    **{name: f"inspect.{name}" for name in INSPECTED.split()},
    "held": "inspect.held",
    "twin": "inspect.shadow",
    "can_redo_edit": "edits.can_redo",
    "can_undo_edit": "edits.can_undo",
    "draft": "edits.draft",
    "edit": "edits.source",
    "kept": "edits.kept",
    "reset": "edits.clear",
    "restore": "edits.restore",
    "see_edits": "edits.watch",
    "step_byte": "edits.byte",
    "step_token": "step",
    "type": "edits.type",
    "redo_edit": "redo",
    "undo_edit": "undo",
    "set_prefix": "read",
    "source": "document.text",
    "current_run": "model.current",
    "generate_in_background": "model.run_in_background",
    "is_running": "model.is_running",
    "stop": "model.stop",
}
"""Where the names of before are now."""
_said: set[str] = set()
