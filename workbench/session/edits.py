"""Whatever changes a session's text or its grammar, and takes such a change back.

Moving through the history changes nothing and is no edit.  An operation that raises leaves the session as it was.

Read on: `core.py`, `undo.py` (versions), `session.py` (the shorter names of these methods).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernels_core import GrammarCompiler
from kernels_core.errors import MaskscopeError
from kernels_core.inspect.classic import in_common
from workbench.languages import NOTHING, Draft, Source
from workbench.languages.draft import draft_of
from workbench.languages.not_a_schema import draft_of_example
from workbench.session.core import Change, Core
from workbench.session.history import Place, Step, Tape, Unit
from workbench.session.inspector import Inspector
from workbench.session.matching import (
    Piece,
    as_unit,
    bytes_of,
    lay,
    single_bytes,
    step_of_token,
    tokenise,
)
from workbench.session.result import Reading, StepError
from workbench.session.shadow import Shadow
from workbench.session.undo import Scene, Version
from workbench.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from kernels_core.inspect.snapshots import Frontier
    from kernels_core.inspect.trace import FillEvent


class Edits:
    """Changes of one session (`session.edits`); `Session` says what the methods do that it shares with this class."""

    def __init__(self, core: Core, inspect: Inspector) -> None:
        self._core = core
        self._inspect = inspect

    # -- the text ----------------------------------------------------------------------------------------------------

    def step(self, what: str | bytes | int) -> None:
        """`Session.step`."""
        if isinstance(what, bool) or not isinstance(what, (str, bytes, int, np.integer)):
            raise TypeError(f"step takes text, bytes or a token id, not {type(what).__name__}")
        if isinstance(what, (int, np.integer)):
            self.take(int(what))
            return
        data = bytes_of(what)
        with self._core.lock:
            self._check(data)
            if data:
                self._core.commit(Step(0, data))
        if data:
            self._core.tell("place")

    def take(self, token_id: int, fill: FillEvent | None = None, *, run: object = None) -> bool:
        """Take a token; `fill`: how the mask before it came about, if a generation asked for that.  False, and nothing
        is taken, where `run`, which has drawn it, steps the session no more."""
        core = self._core
        with core.lock:
            if run is not None and run is not core.run:
                return False
            if fill is not None and not core.place.offset:
                core.fills.note(core.place.index, fill)
            core.token_bytes(token_id)
            core.refuse_after_stop()
            step = step_of_token(self._inspect.shadow(), token_id)
            if step is None:
                explain = self._inspect.explain
                if token_id in core.matcher.stop_token_ids:
                    raise StepError("the stop token is not allowed here: the text is not complete", explain(b""))
                reading = explain(token_id)
                reason = "it is a control token or padding, not text" if reading.ok else reading.message
                raise StepError(f"token {token_id}: {reason}", reading)
            core.commit(step)
        core.tell("place")
        return True

    def byte(self, byte: int | None = None) -> None:
        """Read one byte: `byte`, else the next one of the history, else the only one the grammar leaves."""
        if byte is not None:
            if not 0 <= byte <= 255:
                raise StepError(f"{byte} is not a byte: 0 to 255")
            self.step(bytes((byte,)))
            return
        core = self._core
        with core.lock:
            if (place := core.tape.after(core.place, "byte")) is not None:
                core.go(place)
            else:
                possible = self._inspect.next_bytes()
                if len(possible) != 1:
                    reading = self._inspect.explain(b"")
                    raise StepError(f"one of {len(possible)} bytes must be named: {reading.message}", reading)
                core.commit(Step(0, possible))
        core.tell("place")

    def type(self, text: str | bytes) -> None:
        """Read `text` on from the place in the tokenizer's tokens, as one edit; the steps before it stay as they are.

        Raises `StepError`, and changes nothing, where the text dies.
        """
        core, data = self._core, bytes_of(text)
        with core.lock:
            self._check(data)
            before = [(step.data, step.token_id) for step in core.tape.between(Place(), core.place)]
            tape, _ = lay(core.shadow(), before + tokenise(data, core.tokenizer)[0])
            core.replace(tape)
        core.tell("place")

    def seek(self, prefix: str | bytes) -> None:
        """`Session.seek`, to a text."""
        core, data = self._core, bytes_of(prefix)
        with core.lock:
            place = None
            if core.tape.data.startswith(data):
                with suppress(IndexError):  # inside a token that was taken whole
                    place = core.tape.place_at(len(data))
            if place == core.place:
                return
            if place is not None:
                core.go(place)
            else:
                tape, reading = lay(core.shadow(), *tokenise(data, core.tokenizer))
                if not reading.ok:
                    reading = self._inspect.told(reading, data, reading.read, afresh=True)
                    raise StepError(reading.message, reading)
                core.replace(tape)
        core.tell("place")

    def read(self, text: str | bytes, by: Unit = "token", *, as_written: bool = False) -> Reading:
        """`Session.read`; as_written: what a model wrote last stays cut as it was, as far as `text` begins with it."""
        core, data = self._core, bytes_of(text)
        with core.lock:
            pieces, note = single_bytes(data), ""
            if as_unit(by) == "token":
                kept: list[Piece] = []
                past = 0
                for step in core.written if as_written else ():
                    if not data.startswith(step.data, past) or (step.stop and past < len(data)):
                        break
                    kept.append((step.data, step.token_id))
                    past += len(step.data)
                pieces, note = tokenise(data[past:], core.tokenizer)
                pieces = kept + pieces
            tape, reading = lay(core.shadow(), pieces, note)
            with core.all_or_nothing():
                core.replace(tape, data[reading.read :])
                reading = self._inspect.told(reading, core.rest)
        core.tell("place")
        return reading

    def clear(self) -> None:
        """Forget the history and stand at the beginning."""
        with self._core.lock:
            self._core.replace(Tape())
        self._core.tell("place")

    def keep(self, tokens: Sequence[int], data: bytes) -> list[Frontier]:
        """Read what `data`, the text so far, shares with these tokens, cut into them, and stand behind that.

        The frontiers before each token that stays, and behind the last one.
        """
        core = self._core
        with core.lock:
            pieces, past = list[Piece](), 0
            vocabulary = core.tokenizer.info.decoded_vocab
            for token in tokens:
                piece = bytes(vocabulary[token]) if 0 <= token < len(vocabulary) else b""
                if not piece or not data.startswith(piece, past):
                    break
                pieces.append((piece, token))
                past += len(piece)
            steps = lay(core.shadow(), pieces)[0].steps
            count = in_common(tuple(step.token_id for step in steps), tuple(tokens))
            with core.all_or_nothing():
                core.replace(Tape(steps[:count]))
                frontiers = self._inspect.frontiers()
        core.tell("place")
        return frontiers

    def begin_anew(self) -> None:
        """Forget the text, its other continuations, its examples, and the trace of what wrote it."""
        self.clear()
        with self._core.lock:
            self._core.examples, self._core.trace, self._core.undo.dropped = (), None, ()

    def remember(self) -> None:
        """A model wrote the text that there is now: a person who comes back to it has it as it was (`read`)."""
        with self._core.lock:
            self._core.written = self._core.tape.steps

    def shorten(self, length: int) -> None:
        """End the text after `length` bytes of it, as a part of the edit that wrote it: a run at its stop string."""
        core = self._core
        with core.lock:
            steps, kept = core.tape.steps, 0
            while kept < len(steps) and core.tape.position(Place(kept + 1)) <= length:
                kept += 1
            pieces: list[Piece] = [(step.data, step.token_id) for step in steps[:kept]]
            rest = core.tape.data[core.tape.position(Place(kept)) : length]
            tape, _ = lay(core.shadow(), [*pieces, (rest, None)] if rest else pieces)
            core.arrive(tape)
            core.rest, core.written = b"", tape.steps
        core.tell("place")

    def _check(self, data: bytes) -> None:
        """`StepError` where `data` cannot be read here."""
        self._core.refuse_after_stop()
        if not self._inspect.shadow().accept_string(data):
            reading = self._inspect.explain(data)
            raise StepError(reading.message, reading)

    # -- the grammar and the tokenizer -------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft | None:
        """What was typed last as a source and has mistakes, while the grammar in use is another; None where there is no
        such."""
        return self._core.draft

    def source(
        self, grammar: object, *, language: str | None = None, anew: bool = False, **reading: object
    ) -> Reading | Draft:
        """`Session.set_grammar` for who is still typing: a text with mistakes becomes the `draft`, which is returned,
        and the grammar in use stays; `anew`: another source is opened, and then no grammar is in use."""
        source, here = self._sourced(grammar, language, reading), NOTHING if anew else self._core.document
        draft = draft_of_example(source, here)
        try:
            if draft is None:
                outcome = self._change_grammar(source)
        except MaskscopeError as error:
            draft = draft_of(source, source.mistakes(error), error, here)
        if draft is None:
            self._core.tell("grammar")
            return outcome
        if anew:
            self.set_grammar(here)
        with self._core.lock:
            self._core.draft = draft
        self._core.tell("draft")
        return draft

    def set_grammar(self, grammar: object, *, language: str | None = None, **reading: object) -> Reading:
        """`Session.set_grammar`."""
        outcome = self._change_grammar(self._sourced(grammar, language, reading))
        self._core.tell("grammar")
        return outcome

    def _change_grammar(self, source: Source) -> Reading:
        """`set_grammar`, of which nobody is told yet."""
        core = self._core
        with core.lock:
            compiled = source.compile(core.compiler)
            shadow = Shadow(compiled)
            taken = core.tape.between(Place(), core.place)
            tape, outcome = lay(shadow, [(step.data, step.token_id) for step in taken if not step.stop])
            with core.all_or_nothing():
                core.document, core.draft = source, None
                if core.place < core.tape.end:
                    core.drop()
                core.run_on(compiled, shadow, tape)
                rest = outcome.text[outcome.read :]
                core.rest = rest + core.rest
                return self._inspect.told(outcome, rest)

    def _sourced(self, grammar: object, language: str | None, reading: dict[str, object]) -> Source:
        source = Source.of(grammar, language, **reading)
        here = self._core.document
        if isinstance(grammar, str) and source.language == here.language == "ebnf" and not reading:
            return replace(source, options={**source.options, **here.options})
        return source

    def set_tokenizer(self, tokenizer: object) -> Reading:
        """`Session.set_tokenizer`."""
        core = self._core
        with core.lock:
            loaded = load_tokenizer(tokenizer)
            compiler = GrammarCompiler(loaded.info, options=core.options)
            # Made again: tokens may be written by their text.
            compiled = core.document.compile(compiler)
            shadow = Shadow(compiled)
            tape, reading = lay(shadow, *tokenise(core.text, loaded))
            with core.all_or_nothing():
                with self.as_one():
                    core.compiler, core.tokenizer, core.model_replaced = compiler, loaded, ""
                    if core.place < core.tape.end:
                        core.drop()
                    core.run_on(compiled, shadow, tape)
                    rest = reading.text[reading.read :]
                    core.rest = rest + core.rest
                    core.written = ()
                reading = self._inspect.told(reading, rest)
        core.tell("tokenizer")
        return reading

    # -- taken back --------------------------------------------------------------------------------------------------

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """All that is done within is one edit, and taking it back brings the source, the vocabulary, the examples, the
        trace and the `memo` of before."""
        core = self._core
        with core.lock:
            core.undo.begin(core.version())
        try:
            yield
        finally:
            with core.lock:
                core.undo.end()

    @property
    def memo(self) -> object:
        """What panels keep with the text, and what comes back with it."""
        return self._core.memo

    @memo.setter
    def memo(self, memo: object) -> None:
        self._core.memo = memo

    @property
    def refused(self) -> bytes:
        """What was typed at the end of the text and is refused."""
        return self._core.rest

    def watch(self, *, afresh: bool = False) -> None:
        """A panel shows the text: what was made before its first opening (`afresh`: before now) stays, later edits can
        be taken back."""
        with self._core.lock:
            self._core.undo.see(afresh=afresh)

    @property
    def can_undo(self) -> bool:
        return self._core.undo.can_undo

    @property
    def can_redo(self) -> bool:
        return self._core.undo.can_redo

    def undo(self) -> Reading | None:
        """`Session.undo`."""
        return self._restore(self._core.undo.undo)

    def redo(self) -> Reading | None:
        """`Session.redo`."""
        return self._restore(self._core.undo.redo)

    @property
    def kept(self) -> tuple[Version, ...]:
        """Continuations that an edit dropped, the newest first: texts that went on otherwise after the place of it."""
        with self._core.lock:
            return self._core.undo.kept(self._core.tape.data + self._core.rest)

    def restore(self, number: int = 0) -> Reading:
        """Go to the end of a continuation, `kept[number]`; the present one is kept.  IndexError where there is none."""

        def take(now: Version) -> Version:
            undo = self._core.undo
            kept = undo.kept(now.text)
            if not 0 <= number < len(kept):
                raise IndexError(f"there is no continuation {number}: {len(kept)} are kept")
            version, now = kept[number], replace(now, scene=None)
            undo.note(now)
            if not version.text.startswith(now.text):
                undo.keep(now)
            return replace(version, place=Place(len(version.steps)))

        reading = self._restore(take)
        assert reading is not None
        return reading

    def _restore(self, take: Callable[[Version], Version | None]) -> Reading | None:
        core = self._core
        with core.lock, core.all_or_nothing():
            version = take(core.version())
            if version is None:
                return None
            change: Change = "place" if version.scene is None else self._enter(version.scene)
            pieces: list[Piece] = [(step.data, step.token_id) for step in version.steps]
            ours = version.vocabulary == core.tokenizer.info.fingerprint
            if not ours:
                pieces = tokenise(b"".join(step.data for step in version.steps), core.tokenizer)[0]
            tape, reading = lay(core.shadow(), pieces)
            # Under another grammar the text may die earlier.
            whole = tape.steps == version.steps if ours else reading.ok
            core.rest = version.rest if whole else version.text[len(tape.data) :]
            if core.rest:
                reading = lay(core.shadow(), [*((step.data, step.token_id) for step in tape.steps), (core.rest, None)])[
                    1
                ]
            core.arrive(tape)
            if version.scene is not None:
                core.written = tape.steps
            reading = self._inspect.told(reading, core.rest)
            if whole and ours:
                core.go(version.place)
        core.tell(change)
        return reading

    def _enter(self, scene: Scene) -> Change:
        """Have what the text of a version stood in."""
        core = self._core
        other = scene.tokenizer is not core.tokenizer
        change: Change = "tokenizer" if other else "place"
        if other or scene.document is not core.document:
            compiler = GrammarCompiler(scene.tokenizer.info, options=core.options) if other else core.compiler
            compiled = scene.document.compile(compiler)
            core.compiler, core.tokenizer, core.document = compiler, scene.tokenizer, scene.document
            core.run_on(compiled, Shadow(compiled), Tape())
            change = "tokenizer" if other else "grammar"
        core.draft, core.model_replaced = scene.draft, scene.model_replaced
        core.examples, core.trace, core.memo = scene.examples, scene.trace, scene.memo
        core.undo.dropped = scene.dropped
        return change
