"""A session: one grammar, one tokenizer, and a place in a text, with everything the parser knows there.

`Session` is a plain object without widgets.  It holds a compiled grammar, a matcher and the history of what was read;
one moves through it by token or by byte, and asks what the parser is doing (`frontier`), what may come next
(`token_sets`, `allowed_tokens`, `next_bytes`) and why a text is refused (`explain`).  Views register with `on_change`
and all read the same place, so they can never disagree.

What is shown is the engine that runs, with the options that were given, and showing it leaves no trace in it: whatever
makes something is asked of a twin (`twin`), which reads the same text and shares nothing with it.

An operation that raises leaves the session as it was.  Every public method takes the session's lock, so a
generation may step it from a background thread while a cell reads it; callbacks run after the lock is released, in the
thread that made the change.

Read on: `workbench/session/history.py` (the tape), `workbench/session/shadow.py`, `workbench/session/masks.py`,
`workbench/session/result.py` (what became of a text), `workbench/explorer/explorer.py` (the views).
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from kernels_core import (
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
)
from kernels_core.display import Displayed, renderer
from kernels_core.errors import MaskscopeError
from kernels_core.inspect.fills import CacheLog
from kernels_core.locks import new_reentrant_lock
from visualizers.svg import to_svg
from workbench.languages import NOTHING, Draft, Source
from workbench.session.file import KeptError, Saved, read_saved
from workbench.session.history import Place, Step, Tape, Unit
from workbench.session.inspector import Knowing
from workbench.session.masks import MAX_ASKED, MAX_OUTLOOKS, Fills, Known
from workbench.session.matching import (
    as_unit,
    bytes_of,
    lay,
    play,
    read_bytes,
    single_bytes,
    step_of_token,
    tokenise,
)
from workbench.session.result import Reading, StepError
from workbench.session.run import Run, RunError
from workbench.session.shadow import Twin
from workbench.session.undo import Editing, Edits
from workbench.tokenizers import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from kernels_core.inspect.trace import FillEvent
    from workbench.generation import LanguageModel
    from workbench.session.trace import Trace

__all__ = ["Change", "Session"]

Change = Literal["grammar", "tokenizer", "place", "run", "draft"]
"""What changed: the grammar, the tokenizer (both imply the place), the place, whether a generation is running, or what
was typed as a grammar and cannot be used (`Session.draft`)."""


T = TypeVar("T")
Bitmask = np.ndarray[Any, np.dtype[np.int32]]
Ids = np.ndarray[Any, np.dtype[np.int32]]


class Session(Knowing, Editing, Displayed):
    """A grammar, a tokenizer and a place in a text.

    `grammar` is whatever `workbench.languages.Source.of` takes: EBNF, Lark, a regular expression, a JSON schema (dict,
    text, pydantic model), a structural tag, a list of tools, a path to one of these, a `Grammar`.  `language` names the
    language of a text where the guess would be wrong; `reading` are its options (`order="declared"`, `flags="i"`).
    `tokenizer` is whatever `workbench.load_tokenizer` takes, `options` are the engine's.

    Raises `GrammarError` or `UnsupportedSchemaError` for a bad grammar, with a note of each place at fault, and
    `TokenizerError` for a vocabulary that cannot be read.  `Session.opened` keeps a bad grammar as a draft instead.

    Thread safety: see the module's docstring.
    """

    def __init__(
        self,
        grammar: Any,
        tokenizer: Any = "tekken",
        *,
        language: str | None = None,
        options: Options | None = None,
        **reading: Any,
    ) -> None:
        self._lock = new_reentrant_lock()
        self._observers: list[Callable[[Change], None]] = []
        self._options = options or Options()
        self._tokenizer = load_tokenizer(tokenizer)
        self._compiler = GrammarCompiler(self._tokenizer.info, options=self._options)
        self._document = Source.of(grammar, language, **reading)
        self._draft: Draft | None = None
        self._compiled = self._compiler.compile_grammar(self._document.grammar(self._tokenizer.info))
        self._matcher = GrammarMatcher(self._compiled)
        self._log = CacheLog(self._matcher)
        self._log.listen(self._matcher)
        self._made_twin: Twin | None = None
        self._looked_at: Grammar | None = None
        self._tape = Tape()
        self._place = Place()
        self._edits = Edits()
        self._rest = b""  # typed after the text, and refused
        self._fills = Fills()
        self._known = Known()  # by parser state
        self._outlooks = Known(MAX_OUTLOOKS)  # by parser state and end of the text; a megabyte each
        self._seen: dict[str, Any] = {}  # at this place
        self._run: Run | None = None
        self._trace: Trace | None = None

    @classmethod
    def opened(
        cls,
        grammar: Any,
        tokenizer: Any = "tekken",
        *,
        language: str | None = None,
        options: Options | None = None,
        **reading: Any,
    ) -> Session:
        """A session on whatever it is, also on a mistake: then `draft` holds the source and its mistakes, and until it
        is mended (`edit`) only the empty text is allowed."""
        source = Source.of(grammar, language, **reading)
        loaded = load_tokenizer(tokenizer)
        try:
            return cls(source, loaded, options=options)
        except MaskscopeError as error:
            session = cls(NOTHING, loaded, options=options)
            session._draft = Draft(source, source.mistakes(error), error, NOTHING)
            return session

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def compiled(self) -> CompiledGrammar:
        """The compiled grammar of the engine that runs: what is done with it is seen in its counters (see `twin`)."""
        return self._compiled

    @property
    def options(self) -> Options:
        """The engine's options, as they were given."""
        return self._options

    @property
    def compiler(self) -> GrammarCompiler:
        """What compiled the grammar, and those before it: they share its cross-grammar cache."""
        return self._compiler

    @property
    def grammar(self) -> Grammar:
        """The grammar in use, read again to be looked at: asking for the rules of a schema makes them."""
        with self._lock:
            if self._looked_at is None:
                self._looked_at = self._compiled.grammar.read_again()
            return self._looked_at

    @property
    def document(self) -> Source:
        """The source of the grammar in use: its text as it was typed, its language, its options."""
        return self._document

    @property
    def source(self) -> str:
        """The text of the grammar in use, as it was typed, in its own language: what spans point into."""
        return self._document.text

    @property
    def draft(self) -> Draft | None:
        """What was typed last and has mistakes, while the grammar in use is another; None where there is no such."""
        return self._draft

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def matcher(self) -> GrammarMatcher:
        """A fork of the engine's matcher at the current place, to go on with, as a generation does.

        What it reads and the masks that it asks for are seen in the engine's counters; to play, see `twin`.
        """
        with self._lock:
            return self._matcher.fork()

    def twin(self) -> GrammarMatcher:
        """A matcher at the current place in a second engine, to play with: neither the session nor its engine notice.

        The second engine has the same options and shares nothing with the first; its state ids are its own.
        """
        return self._twin().fork()

    def __repr__(self) -> str:
        from workbench.provenance.rules import written

        with self._lock:
            text, position, state = self.text, self.position, ""
            if self.is_terminated:
                state = ", stopped"
            elif self.is_completed:
                state = ", may end here"
            shown = text if len(text) <= 40 else b"..." + text[-37:]
            return (
                f"<Session: {written(self)}, {self.vocabulary}, {self._tokenizer.info.vocab_size:,} tokens; "
                f"step {self.index} of {len(self._tape)}, byte {position}: {shown.decode(errors='replace')!r}{state}>"
            )

    def _repr_html_(self) -> str | None:
        with self._lock:
            return super()._repr_html_()

    # -- what it can be turned into ----------------------------------------------------------------------------------

    def show(self) -> Any:
        """Open the explorer on this session; as the last line of a cell it displays itself."""
        explorer = renderer(type(self), "live")
        if explorer is None:
            raise NotImplementedError("nobody draws sessions: import workbench")
        return explorer(self)

    def to_svg(self) -> str:
        """The automaton with the active states lit, as one SVG document."""
        with self._lock:
            return to_svg(self.automaton(), active=self.frontier().active_states())

    def to_json(self) -> dict[str, Any]:
        """The session as JSON values: see `workbench/session/file.py`."""
        with self._lock:
            draft = None if self._draft is None else self._draft.source
            saved = Saved(self._document, draft, self._tokenizer, self._options, self._tape.steps, self._place)
            return saved.to_json()

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
        cls, source: str | Path | Mapping[str, Any], tokenizer: Any = None, *, options: Options | None = None
    ) -> Session:
        """The session of a file that `save` wrote (or of what `to_json` returned), at the place where it stood.

        `tokenizer` is needed where the session's own had no name or path to find it by.  `options` are taken in place
        of the file's own, whose limits of time and memory are held to the defaults, with a warning where it asks for
        more.  `KeptError` says what is wrong with a file.
        """
        saved = read_saved(source, tokenizer, options)
        session = cls(saved.source, saved.tokenizer, options=saved.options)
        for step in saved.steps:
            session.step(step.data if step.token_id is None else step.token_id)
        if saved.draft is not None:
            session.edit(saved.draft)
        try:
            session.goto(saved.place.index)
        except IndexError as error:
            raise KeptError(f"the place of this session: {error}") from None
        for _ in range(saved.place.offset):
            session.forward("byte")
        return session

    # -- where it is -------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Bytes read so far."""
        with self._lock:
            return self._tape.position(self._place)

    @property
    def index(self) -> int:
        """Whole steps taken so far: the one number by which views are linked."""
        return self._place.index

    @property
    def place(self) -> Place:
        return self._place

    @property
    def text(self) -> bytes:
        """The bytes read so far."""
        with self._lock:
            return self._tape.data[: self.position]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of the history, the undone ones included."""
        with self._lock:
            return self._tape.steps

    @property
    def is_completed(self) -> bool:
        """Whether the text may end here."""
        with self._lock:
            return bool(self._matcher.is_completed())

    @property
    def is_terminated(self) -> bool:
        """Whether the text has ended: a stop token was taken."""
        with self._lock:
            return bool(self._matcher.is_terminated())

    @contextmanager
    def held(self) -> Iterator[Session]:
        """Hold the session still, so that several questions are answered at one place (`with session.held(): ...`)."""
        with self._lock:
            yield self

    # -- observers ---------------------------------------------------------------------------------------------------

    def on_change(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call `callback(change)` after every change; returns a function that ends it.

        Callbacks run in the thread that made the change.  If one raises, the others still run, then the error goes to
        the caller; the session's own state is settled by then.
        """
        with self._lock:
            self._observers.append(callback)

        def forget() -> None:
            with self._lock:
                if callback in self._observers:
                    self._observers.remove(callback)

        return forget

    def _tell(self, change: Change) -> None:
        with self._lock:
            observers = list(self._observers)
        errors: list[Exception] = []
        for observer in observers:
            try:
                observer(change)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    # -- stepping ----------------------------------------------------------------------------------------------------

    def step(self, what: str | bytes | int) -> Session:
        """Read a text (one step), bytes (one step) or a token by its id, in the place of what had been undone (`kept`).

        Raises `StepError`, which tells where the text dies and what was possible there.
        """
        if isinstance(what, bool) or not isinstance(what, (str, bytes, int, np.integer)):
            raise TypeError(f"step takes text, bytes or a token id, not {type(what).__name__}")
        if isinstance(what, (int, np.integer)):
            return self.step_token(int(what))
        data = bytes_of(what)
        with self._lock:
            self._refuse_after_stop()
            if not self.twin().accept_string(data):
                reading = self.explain(data)
                raise StepError(reading.message, reading)
            if data:
                self._commit(Step(0, data))
        if data:
            self._tell("place")
        return self

    def step_token(self, token_id: int) -> Session:
        """Take one token of the vocabulary, the stop token included; `StepError` when the mask forbids it."""
        return self._take(token_id, None)

    def _take(self, token_id: int, fill: FillEvent | None) -> Session:
        """Take a token; `fill`: how the mask before it came about, if a generation asked for that."""
        with self._lock:
            if fill is not None and not self._place.offset:
                self._fills.note(self._place.index, fill)
            self._token_bytes(token_id)
            self._refuse_after_stop()
            step = step_of_token(self.twin(), token_id)
            if step is None:
                if token_id in self._matcher.stop_token_ids:
                    raise StepError("the stop token is not allowed here: the text is not complete", self.explain(b""))
                reading = self.explain(token_id)
                reason = "it is a control token or padding, not text" if reading.ok else reading.message
                raise StepError(f"token {token_id}: {reason}", reading)
            self._commit(step)
        self._tell("place")
        return self

    def step_byte(self, byte: int | None = None) -> Session:
        """Read one byte: `byte`, else the next one of the history, else the only one the grammar leaves."""
        if byte is not None:
            if not 0 <= byte <= 255:
                raise StepError(f"{byte} is not a byte: 0 to 255")
            return self.step(bytes((byte,)))
        if self.forward("byte"):
            return self
        possible = self.next_bytes()
        if len(possible) != 1:
            reading = self.explain(b"")
            raise StepError(f"one of {len(possible)} bytes must be named: {reading.message}", reading)
        return self.step(possible)

    # -- moving through the history ----------------------------------------------------------------------------------

    def back(self, by: Unit = "token") -> bool:
        """Go back one token (or byte) without forgetting it; False at the beginning."""
        return self._move_to(lambda: self._tape.before(self._place, as_unit(by)))

    def forward(self, by: Unit = "token") -> bool:
        """Go forward again through what was undone; False at the end of the history."""
        return self._move_to(lambda: self._tape.after(self._place, as_unit(by)))

    def undo(self) -> bool:
        """`back("token")`: take back the last step."""
        return self.back("token")

    def redo(self) -> bool:
        """`forward("token")`: take again the step that was taken back."""
        return self.forward("token")

    def goto(self, index: int) -> Session:
        """Go to the place after `index` steps of the history; IndexError outside it."""
        self._move_to(lambda: self._tape.place(index))
        return self

    def seek(self, prefix: int | str | bytes) -> Session:
        """Make the text read be `prefix`, or go to a byte position of the history.

        Unlike `set_prefix`, a text the grammar refuses raises `StepError` and changes nothing.
        """
        if isinstance(prefix, (int, np.integer)):
            self._move_to(lambda: self._tape.place_at(int(prefix)))
            return self
        data = bytes_of(prefix)
        if self._tape.data.startswith(data):
            with suppress(IndexError):  # inside a token that was taken whole
                self._move_to(lambda: self._tape.place_at(len(data)))
                return self
        with self._lock:
            tape, reading = lay(self._twin(), *tokenise(data, self._tokenizer))
            if not reading.ok:
                reading = self._told(reading, data, reading.read, afresh=True)
                raise StepError(reading.message, reading)
            self._replace(tape)
        self._tell("place")
        return self

    def reset(self) -> Session:
        """Forget the history and stand at the beginning."""
        with self._lock:
            self._replace(Tape())
        self._tell("place")
        return self

    # -- reading a whole text ----------------------------------------------------------------------------------------

    def set_prefix(self, text: str | bytes, by: Unit = "token") -> Reading:
        """Read `text` from the beginning, as far as the grammar allows, and make that the history.

        The steps are the tokenizer's tokens when `by` is "token", single bytes when "byte".  Never raises for a text
        that dies: the `Reading` says at which byte, what was read and what was possible there, and the session stands
        just before that byte.
        """
        data = bytes_of(text)
        with self._lock:
            pieces, note = single_bytes(data), ""
            if as_unit(by) == "token":
                pieces, note = tokenise(data, self._tokenizer)
            tape, reading = lay(self._twin(), pieces, note)
            self._replace(tape, data[reading.read :])
            reading = self._told(reading, self._rest)
        self._tell("place")
        return reading

    # -- replacing the grammar and the tokenizer ---------------------------------------------------------------------

    def set_grammar(self, grammar: Any, *, language: str | None = None, **reading: Any) -> Reading:
        """Compile another grammar (see `Session`) and read the present text under it, as far as it goes.

        EBNF text keeps the present root rule's name, unless `root_rule_name` says another.

        A grammar that does not compile raises, with a note of each place at fault, and changes nothing.
        """
        source = self._sourced(grammar, language, reading)
        with self._lock:
            compiled = self._compiler.compile_grammar(source.grammar(self._tokenizer.info))
            twin = Twin(compiled)
            taken = self._tape.between(Place(), self._place)
            tape, outcome = lay(twin, [(step.data, step.token_id) for step in taken if not step.stop])
            self._document, self._draft = source, None
            if self._place < self._tape.end:
                self._drop()
            self._run_on(compiled, twin, tape)
            rest = outcome.text[outcome.read :]
            self._rest = rest + self._rest
            outcome = self._told(outcome, rest)
        self._tell("grammar")
        return outcome

    def edit(self, grammar: Any, *, language: str | None = None, **reading: Any) -> Reading | Draft:
        """`set_grammar` for who is still typing: a text with mistakes becomes the `draft`, which is returned, and the
        grammar in use stays."""
        source = self._sourced(grammar, language, reading)
        try:
            return self.set_grammar(source)
        except MaskscopeError as error:
            with self._lock:
                draft = self._draft = Draft(source, source.mistakes(error), error, self._document)
        self._tell("draft")
        return draft

    def _sourced(self, grammar: Any, language: str | None, reading: dict[str, Any]) -> Source:
        source = Source.of(grammar, language, **reading)
        here = self._document
        if isinstance(grammar, str) and source.language == here.language == "ebnf" and not reading:
            return Source.of(source, **here.options)
        return source

    def set_tokenizer(self, tokenizer: Any) -> Reading:
        """Take another vocabulary; the grammar stays, and the text is cut into the new tokens."""
        with self._lock:
            loaded = load_tokenizer(tokenizer)
            compiler = GrammarCompiler(loaded.info, options=self._options)
            # Made again: tokens may be written by their text.
            compiled = compiler.compile_grammar(self._document.grammar(loaded.info))
            twin = Twin(compiled)
            tape, reading = lay(twin, *tokenise(self.text, loaded))
            self._compiler, self._tokenizer, self._before_model = compiler, loaded, ""
            self._run_on(compiled, twin, tape)
            self._edits, self._rest = Edits(), reading.text[reading.read :]
            reading = self._told(reading, self._rest)
        self._tell("tokenizer")
        return reading

    # -- a model in the loop -----------------------------------------------------------------------------------------

    async def generate(
        self, model: LanguageModel, prompt: Any, *, constrained: bool = True, pace: float = 0.0, **options: Any
    ) -> Trace:
        """Let a model write from the beginning, token by token, with every view following; `await` it in a cell.

        The session takes the model's `vocabulary` and starts afresh, with the members of a schema in declared order
        unless an order was said (`Source.for_a_model`).  With `constrained=False` the model is free, and
        the session reads along until the grammar refuses.  `pace` seconds are waited after each token, to watch a quick
        model; `options` are those of `workbench.generate` (`max_tokens`, `temperature`, `seed`, ...).  Buttons work
        meanwhile; `stop()`, or moving the session, ends it before the next token.  However it ends, `session.trace` is
        what there is.
        """
        run = Run(self, model, prompt, constrained=constrained, options=options)
        with run:
            async for step in run.stream:
                run.follow(step)
                await asyncio.sleep(pace)
        return run.trace

    def run(self, model: LanguageModel, prompt: Any, *, constrained: bool = True, **options: Any) -> Trace:
        """`generate` for a script: blocks until done.  In a notebook only the kernel's stop button can end it."""
        run = Run(self, model, prompt, constrained=constrained, options=options)
        with run:
            try:
                for step in run.stream:
                    run.follow(step)
            except KeyboardInterrupt:
                run.stop()
        return run.trace

    def generate_in_background(
        self, model: LanguageModel, prompt: Any, *, constrained: bool = True, **options: Any
    ) -> Future[Trace]:
        """`run` in a thread of its own: the cell returns at once, `.result()` waits for the trace."""
        future: Future[Trace] = Future()

        def work() -> None:
            try:
                future.set_result(self.run(model, prompt, constrained=constrained, **options))
            except BaseException as error:
                future.set_exception(error)

        future.set_running_or_notify_cancel()
        threading.Thread(target=work, name="maskscope-generation", daemon=True).start()
        return future

    def stop(self) -> None:
        """End a running generation before its next token; without one, nothing happens."""
        run = self._run
        if run is not None:
            run.stop()

    @property
    def is_running(self) -> bool:
        """Whether a generation is stepping the session."""
        return self._run is not None

    @property
    def current_run(self) -> Run | None:
        """The generation that is stepping the session, if one is."""
        return self._run

    @property
    def trace(self) -> Trace | None:
        """The trace of the last generation, also of one that was interrupted or failed."""
        run = self._run
        return self._trace if run is None else run.trace

    def _begin(self, run: Run) -> None:
        with self._lock:
            if self._run is not None:
                raise RunError("a generation is already running in this session: call session.stop() first")
            self._run = run
        self._tell("run")

    def _finish(self, run: Run) -> None:
        with self._lock:
            self._trace, self._run = run.trace, None
            self._log.listen(self._matcher)
        self._tell("run")

    # -- within ------------------------------------------------------------------------------------------------------

    def _refuse_after_stop(self) -> None:
        if self._matcher.is_terminated():
            raise StepError("the stop token was taken: nothing can follow; go back first")

    def _twin(self) -> Twin:
        """The twin, where the session stands."""

        def follow() -> Twin:
            if self._made_twin is None:
                self._made_twin = Twin(self._compiled)
            self._made_twin.follow(self._matcher)
            return self._made_twin

        return self._once("twin", follow)

    def _ask(self) -> None:
        """Have the engine make the mask here, as it would for a generation, unless it was asked before.

        While a generation runs, it asks, and nobody is to be there first.
        """
        if not self._place.offset and self._run is None:
            self._fills.ask(self._matcher, self._place.index)

    def _commit(self, step: Step) -> None:
        """Take a step that the twin allows, in the place of what was undone."""
        self._ask()  # nobody came to the beginning
        self._note_step(step, self._run)
        if self._place.offset:  # what was read of a token becomes a step of its own
            self._matcher.rollback(self._place.offset)
            play(self._matcher, self._tape.between(Place(self._place.index), self._place))
        play(self._matcher, [step])
        self._tape.cut(self._place)
        self._fills.cut(self._place.index)
        self._tape.append(step)
        self._place = self._tape.end
        self._seen.clear()
        self._ask()

    def _move_to(self, choose: Callable[[], Place | None]) -> bool:
        """Put the matcher where `choose` says, within the history; False when it says nowhere or here."""
        with self._lock:
            if self._rest:
                self._drop()
            place = choose()
            if place is None or place == self._place:
                return False
            self._go(place)
        self._tell("place")
        return True

    def _go(self, place: Place) -> None:
        """Put the matcher at another place of the tape: whole steps are one move each, the rest goes byte by byte."""
        here, matcher, tape = self._place, self._matcher, self._tape
        if here.index == place.index:
            matcher.rollback(here.offset - place.offset)
            read_bytes(matcher, tape.data[tape.position(here) : tape.position(place)])
        else:
            matcher.rollback(here.offset + max(0, here.index - place.index))
            play(matcher, tape.between(Place(min(here.index, place.index)), Place(place.index)))
            read_bytes(matcher, tape.data[tape.position(Place(place.index)) : tape.position(place)])
        self._place = place
        self._seen.clear()
        self._ask()

    def _arrive(self, tape: Tape) -> None:
        """Stand at the end of `tape`, which the twin allows."""
        shared = min(self._tape.shared(tape), Place(self._place.index))
        self._matcher.rollback(self._matcher.num_steps - shared.index)
        self._fills.cut(shared.index)
        if shared.index == 0 < len(tape) <= MAX_ASKED:
            self._fills.ask(self._matcher, 0)
        for step in tape.between(shared, tape.end):
            play(self._matcher, [step])
            index = self._matcher.num_steps
            if index > len(tape) - MAX_ASKED:
                self._fills.ask(self._matcher, index)
        self._tape, self._place = tape, tape.end
        self._seen.clear()

    def _run_on(self, compiled: CompiledGrammar, twin: Twin, tape: Tape) -> None:
        """Run another engine from now on, from the beginning of `tape` to its end."""
        self._compiled, self._made_twin, self._looked_at = compiled, twin, None
        self._matcher = GrammarMatcher(compiled)
        self._log = CacheLog(self._matcher)
        self._log.listen(self._matcher)
        self._tape, self._place, self._fills = Tape(), Place(), Fills()
        self._known.clear()
        self._outlooks.clear()
        self._arrive(tape)

    def _token_bytes(self, token_id: int) -> bytes:
        info = self._tokenizer.info
        if not 0 <= token_id < info.vocab_size:
            raise StepError(f"token {token_id} is outside the vocabulary, which has ids 0 to {info.vocab_size - 1:,}")
        return bytes(info.decoded_vocab[token_id])
