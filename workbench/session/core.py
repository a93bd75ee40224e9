"""The core of a session: the engine, the place in a text where it stands, and what was worked out there.

`Session` and its parts (`inspector.py`, `undo.py`, `run.py`) share one core and look at nothing else of each other.
The engine runs with the options that were given, and showing what it does leaves no trace in it: whatever makes
something is asked of a second engine, the shadow, which reads the same text and shares nothing with it.

Who calls a method holds the `lock`, unless the method says that it takes it.

Read on: `history.py` (the tape), `masks.py`, `shadow.py`, `session.py` (what a person calls).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.fills import CacheLog
from kernels_core.locks import new_reentrant_lock
from workbench.languages import Draft, Source
from workbench.session.examples import Example
from workbench.session.history import Place, Step, Tape
from workbench.session.masks import MAX_ASKED, MAX_CONTINUATIONS, Fills, Known
from workbench.session.matching import play, read_bytes
from workbench.session.result import StepError
from workbench.session.shadow import Shadow
from workbench.session.undo import Scene, Undo, Version
from workbench.tokenizers import Tokenizer

Change = Literal["grammar", "tokenizer", "place", "run", "draft"]
"""What changed: the grammar, the tokenizer (both imply the place), the place, whether a generation is running, or what
was typed as a grammar and cannot be used (`Edits.draft`)."""

T = TypeVar("T")
TYPED_AT_ONCE = 8
"""So many bytes may come by typing between two looks at the text; more were pasted."""


class Core:
    """A compiled grammar, a matcher, and the tape that it follows."""

    def __init__(self, document: Source, tokenizer: Tokenizer, options: Options) -> None:
        self.lock = new_reentrant_lock()
        self.options = options
        self.document = document
        self.draft: Draft | None = None
        self.examples: tuple[Example, ...] = ()
        self.tokenizer = tokenizer
        self.compiler = GrammarCompiler(tokenizer.info, options=options)
        self.tape = Tape()
        self.place = Place()
        self.rest = b""  # typed at the end of the tape, and refused
        self.undo = Undo()
        self.fills = Fills()
        self.continuations = Known(MAX_CONTINUATIONS)  # by parser state and end of the text; a megabyte each
        self.seen: dict[str, Any] = {}  # at this place
        self.written: tuple[Step, ...] = ()  # what a model wrote last: the same text is cut so again
        self.run: object = None  # the generation that is stepping the session
        self.trace: object = None  # of the last one
        self.memo: object = None  # what panels keep with the text
        self.model_replaced = ""
        """The name of the vocabulary in whose place a model's came; "" where none did."""
        self._known = Known()  # by parser state
        self._observers: list[Callable[[Change], None]] = []
        self._untold: list[Change] | None = None  # what nobody is to hear of yet
        compiled = document.compile(self.compiler)
        matcher = GrammarMatcher(compiled)
        self._start(compiled, None, matcher, _listening(matcher))

    def _start(self, compiled: CompiledGrammar, shadow: Shadow | None, matcher: GrammarMatcher, log: CacheLog) -> None:
        self.compiled = compiled
        self._shadow = shadow
        self._looked_at: Grammar | None = None
        self.matcher = matcher  # never moved: a fork that has moved comes in its place
        self.log = log

    @contextmanager
    def all_or_nothing(self) -> Iterator[list[Change]]:
        """Where what is done within is broken off, by Ctrl-C too, all is as it was before it, and nobody has heard of
        it.  Gives the list of what the caller tells the observers of, behind it."""
        before, edits = dict(vars(self)), self.undo.edits()
        untold = [] if self._untold is None else self._untold
        try:
            self._untold = untold
            yield untold
            self._untold = before["_untold"]
        except BaseException:
            vars(self).update(before)
            self.undo.reset(edits)
            self._listen(self.matcher)
            for known in (self.seen, self._known, self.continuations):
                known.clear()
            raise

    # -- observers: these take the lock -----------------------------------------------------------------------------

    def on_change(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """`Session.on_change`."""
        with self.lock:
            self._observers.append(callback)

        def forget() -> None:
            with self.lock:
                if callback in self._observers:
                    self._observers.remove(callback)

        return forget

    def tell(self, change: Change) -> None:
        """Call the observers; the caller may hold the lock."""
        with self.lock:
            if self._untold is not None:
                self._untold.append(change)
                return
            observers = list(self._observers)
        errors: list[Exception] = []
        for observer in observers:
            try:
                observer(change)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    # -- where it is -------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self.tape.position(self.place)

    @property
    def text(self) -> bytes:
        """The bytes read so far."""
        return self.tape.data[: self.position]

    @property
    def grammar(self) -> Grammar:
        """The grammar in use, read again to be looked at: asking for the rules of a schema makes them."""
        if self._looked_at is None:
            self._looked_at = self.compiled.grammar.read_again()
        return self._looked_at

    def shadow(self) -> Shadow:
        """The second engine, where the session stands."""

        def follow() -> Shadow:
            if self._shadow is None:
                self._shadow = Shadow(self.compiled)
            self._shadow.follow(self.matcher)
            return self._shadow

        return self.once("shadow", follow)

    def refuse_after_stop(self) -> None:
        if self.matcher.is_terminated():
            raise StepError("the stop token was taken: nothing can follow; go back first")

    def token_bytes(self, token_id: int) -> bytes:
        """`StepError` for an id outside the vocabulary."""
        info = self.tokenizer.info
        if not 0 <= token_id < info.vocab_size:
            raise StepError(f"token {token_id} is outside the vocabulary, which has ids 0 to {info.vocab_size - 1:,}")
        return bytes(info.decoded_vocab[token_id])

    # -- what was worked out -----------------------------------------------------------------------------------------

    def once(self, what: str, make: Callable[[], T]) -> T:
        """The value of `make` at this place, computed at most once while the session stands there; takes the lock.

        What takes more than a budget is not tried again there: each panel that wants it would wait for the limit.
        """
        with self.lock:
            if what not in self.seen:
                try:
                    self.seen[what] = make()
                except BudgetExceededError as error:
                    self.seen[what] = error
            found = self.seen[what]
            if isinstance(found, BudgetExceededError):
                raise found.with_traceback(None)
            return cast(T, found)

    def of_state(self, what: str, make: Callable[[], T]) -> T:
        """The value of `make`, which depends on the parser state alone, computed once for all places in this state."""
        with self.lock:
            return self._known.once(self.state_key(), what, make)

    def state_key(self) -> tuple[object, ...]:
        """Equal at places from which the same is allowed."""
        return (*self.matcher.state_key, self.matcher.is_terminated())

    def ask(self) -> None:
        """Have the engine make the mask here, as it would for a generation, unless it was asked before.

        While a generation runs, it asks, and nobody is to be there first.
        """
        self._ask(self.matcher, self.fills, self.place)

    def _ask(self, matcher: GrammarMatcher, fills: Fills, place: Place) -> None:
        if not place.offset and self.run is None:
            fills.ask(matcher, place.index)

    # -- moving ------------------------------------------------------------------------------------------------------

    def commit(self, step: Step) -> None:
        """Take a step that the shadow allows, in the place of what was undone."""
        self.ask()  # nobody came to the beginning
        with self._moving() as matcher:
            if self.place.offset:  # what was read of a token becomes a step of its own
                matcher.rollback(self.place.offset)
                play(matcher, self.tape.between(Place(self.place.index), self.place))
            play(matcher, [step])
            place, fills = Place(matcher.num_steps), self.fills.until(self.place.index)
            self._ask(matcher, fills, place)
        if self.place == self.tape.end and not self.rest:
            self.undo.note(len(self.tape), self.run)  # all steps of a generation are one edit
        else:
            self.drop(self.text + step.data, self.run)
        self.tape.cut(self.place)
        self.tape.append(step)
        self.fills = fills
        self._stand(matcher, place)

    def move_to(self, choose: Callable[[], Place | None]) -> bool:
        """Put the matcher where `choose` says, within the history; False when it says nowhere or here.

        Takes the lock, and tells the observers without it.
        """
        with self.lock:
            place = choose()
            if place is None or place == self.place:
                return False
            self.go(place)
        self.tell("place")
        return True

    def go(self, place: Place) -> None:
        """Put the matcher at another place of the tape: whole steps are one move each, the rest goes byte by byte."""
        here, tape = self.place, self.tape
        with self._moving() as matcher:
            if here.index == place.index:
                matcher.rollback(here.offset - place.offset)
                read_bytes(matcher, tape.data[tape.position(here) : tape.position(place)])
            else:
                matcher.rollback(here.offset + max(0, here.index - place.index))
                play(matcher, tape.between(Place(min(here.index, place.index)), Place(place.index)))
                read_bytes(matcher, tape.data[tape.position(Place(place.index)) : tape.position(place)])
            self._ask(matcher, self.fills, place)
        self._stand(matcher, place)

    def arrive(self, tape: Tape) -> None:
        """Stand at the end of `tape`, which the shadow allows."""
        shared = min(self.tape.shared(tape), Place(self.place.index))
        fills = self.fills.until(shared.index)
        with self._moving() as matcher:
            matcher.rollback(matcher.num_steps - shared.index)
            _walk(matcher, fills, tape)
        self.tape, self.fills = tape, fills
        self._stand(matcher, tape.end)

    def run_on(self, compiled: CompiledGrammar, shadow: Shadow, tape: Tape) -> None:
        """Run another engine from now on, from the beginning of `tape` to its end."""
        matcher, fills = GrammarMatcher(compiled), Fills()
        log = _listening(matcher)
        _walk(matcher, fills, tape)
        self._start(compiled, shadow, matcher, log)
        self._known.clear()
        self.continuations.clear()
        self.tape, self.fills = tape, fills
        self._stand(matcher, tape.end)

    @contextmanager
    def _moving(self) -> Iterator[GrammarMatcher]:
        """A fork of the matcher, to go on and to be asked; where that is broken off, the session stays."""
        matcher = self.matcher.fork()
        try:
            self._listen(matcher)
            yield matcher
        except BaseException:
            self._listen(self.matcher)
            raise

    def _stand(self, matcher: GrammarMatcher, place: Place) -> None:
        """Be where `matcher` has gone."""
        self.matcher, self.place = matcher, place
        self.seen.clear()

    def _listen(self, matcher: GrammarMatcher) -> None:
        """Keep what becomes of the masks of `matcher`, unless a generation is under way, whose masks are kept."""
        if self.run is None:
            self.log.listen(matcher)

    # -- edits -------------------------------------------------------------------------------------------------------

    def version(self) -> Version:
        """What the session holds."""
        return Version(self.tape.steps, self.place, self.rest, self.tokenizer.info.fingerprint, self.scene())

    def scene(self) -> Scene:
        """What its text stands in."""
        told = (self.model_replaced, self.examples, self.trace, self.memo, self.undo.dropped)
        return Scene(self.document, self.draft, self.tokenizer, *told)

    def replace(self, tape: Tape, rest: bytes = b"") -> None:
        """`arrive`, as an edit; `rest` was typed after `tape` and is refused."""
        before, in_the_middle = replace(self.version(), scene=None), self.place < self.tape.end
        old, new = self.tape.data + self.rest if self.rest else self.text, tape.data + rest
        self.arrive(tape)
        if old != new:
            group = None
            if abs(len(new) - len(old)) <= TYPED_AT_ONCE:
                group = "typed" if new.startswith(old) else "deleted" if old.startswith(new) else None
            self.undo.note(before, group)
        if in_the_middle and not new.startswith(before.text):
            self.undo.keep(before)
        self.rest = rest

    def drop(self, text: bytes = b"", run: object = None) -> None:
        """What is undone or refused is about to be lost to `text`: keep it."""
        before = replace(self.version(), scene=None)
        self.undo.note(before, run)
        if not text.startswith(before.text):
            self.undo.keep(before)
        self.rest = b""


def _listening(matcher: GrammarMatcher) -> CacheLog:
    log = CacheLog(matcher)
    log.listen(matcher)
    return log


def _walk(matcher: GrammarMatcher, fills: Fills, tape: Tape) -> None:
    """Take `matcher` on to the end of `tape`, and ask for the masks on the way."""
    first = matcher.num_steps
    if first == 0 < len(tape) <= MAX_ASKED:
        fills.ask(matcher, 0)
    for step in tape.between(Place(first), tape.end):
        play(matcher, [step])
        index = matcher.num_steps
        if index > len(tape) - MAX_ASKED:
            fills.ask(matcher, index)


class Here:
    """Where a session stands: what itself and its inspector say alike."""

    _core: Core

    @property
    def document(self) -> Source:
        """The source of the grammar in use: its text as it was typed, its language, its options."""
        return self._core.document

    @property
    def tokenizer(self) -> Tokenizer:
        """The vocabulary in use."""
        return self._core.tokenizer

    @property
    def place(self) -> Place:
        """The place in the history."""
        return self._core.place

    @property
    def text(self) -> bytes:
        """The bytes read so far."""
        with self._core.lock:
            return self._core.text

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of the history, the undone ones included."""
        with self._core.lock:
            return self._core.tape.steps

    @property
    def is_completed(self) -> bool:
        """Whether the text may end here."""
        with self._core.lock:
            return bool(self._core.matcher.is_completed())
