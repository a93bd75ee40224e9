"""What a session knows where it stands: the parser's own account, the mask, and what may come next and why.

Each method answers for one place and computes its answer at most once while the session stands there, or once for all
places in the same parser state.  An inspector is what `workbench/next` and `workbench/provenance` take (`context.py`).

Read on: `core.py`; `workbench/next/` and `workbench/provenance/`, which are asked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options, allocate_token_bitmask
from kernels_core.display import drawn
from kernels_core.errors import BudgetExceededError, DeadEndError, MatcherTerminatedError
from visualizers.glyphs import STOP_TOKEN
from workbench.session.core import Core, Here
from workbench.session.examples import Judged
from workbench.session.masks import ids_of
from workbench.session.matching import bytes_of, play, possible_bytes, read_bytes, report
from workbench.session.result import Candidate, Reading
from workbench.session.shadow import Shadow

if TYPE_CHECKING:
    from kernels_core.inspect.derivation import CallStack, Derivation
    from kernels_core.inspect.dispatch import Modes
    from kernels_core.inspect.fills import CacheRecord
    from kernels_core.inspect.look import RestCaller
    from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, Table, TokenSets
    from kernels_core.inspect.trace import FillEvent, Operations
    from workbench.next.next_tokens import NextTokens
    from workbench.next.refusals import Refusals
    from workbench.next.why import Why
    from workbench.provenance import Members

Found = TypeVar("Found", bound="Table")

Bitmask = np.ndarray[Any, np.dtype[np.int32]]
Ids = np.ndarray[Any, np.dtype[np.int32]]


class Inspector(Here):
    """Questions to the parser at a session's place (`session.inspect`); asking changes nothing."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @contextmanager
    def held(self) -> Iterator[Inspector]:
        """Hold the session still, so that several questions are answered at one place."""
        with self._core.lock:
            yield self

    # -- the engine --------------------------------------------------------------------------------------------------

    @property
    def options(self) -> Options:
        """The engine's options, as they were given."""
        return self._core.options

    @property
    def compiler(self) -> GrammarCompiler:
        """What compiled the grammar, and those before it: they share its cross-grammar cache."""
        return self._core.compiler

    @property
    def compiled(self) -> CompiledGrammar:
        """The compiled grammar of the engine that runs: what is done with it is seen in its counters (see `shadow`)."""
        return self._core.compiled

    @property
    def grammar(self) -> Grammar:
        """The grammar in use, read again to be looked at: asking for the rules of a schema makes them."""
        with self._core.lock:
            return self._core.grammar

    @property
    def matcher(self) -> GrammarMatcher:
        """A fork of the engine's matcher at the current place, to go on with, as a generation does.

        What it reads and the masks that it asks for are seen in the engine's counters; to play, see `shadow`.
        """
        with self._core.lock:
            return self._core.matcher.fork()

    def shadow(self) -> GrammarMatcher:
        """A matcher at the current place in a second engine, to play with: neither the session nor its engine notice.

        The second engine has the same options and shares nothing with the first; its state ids are its own.
        """
        return self._core.shadow().fork()

    # -- where it is -------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Bytes read so far."""
        with self._core.lock:
            return self._core.position

    @property
    def is_terminated(self) -> bool:
        """Whether the text has ended: a stop token was taken."""
        with self._core.lock:
            return bool(self._core.matcher.is_terminated())

    # -- what it says ------------------------------------------------------------------------------------------------

    def explain(self, what: str | bytes | int) -> Reading:
        """What would become of this text (or token) here; nothing changes.

        `reading.ok` says whether it can be read; otherwise `reading.message` names the byte at which it dies, what is
        wrong with a member's name, and what was possible there.
        """
        with self._core.lock:
            shadow = self._core.shadow()
            matcher = shadow.fork()
            if isinstance(what, (int, np.integer)):
                data = self._core.token_bytes(int(what))
                if what in self._core.matcher.stop_token_ids or what in self._core.tokenizer.info.special_token_ids:
                    return self._explain_control(int(what), data, matcher)
            else:
                data = bytes_of(what)
            read = 0 if matcher.is_terminated() else read_bytes(matcher, data)
            return self.told(report(data, self.position, read, shadow, matcher), data, read)

    def examples(self) -> tuple[Judged, ...]:
        """The session's examples, each with what the grammar makes of it as a whole text."""
        with self._core.lock:
            shadow = self._core.shadow()
            return tuple(Judged(one, self._judged(one.text.encode(), shadow)) for one in self._core.examples)

    def _judged(self, data: bytes, shadow: Shadow) -> Reading | None:
        matcher = shadow.start()
        try:
            read = read_bytes(matcher, data)
            return self.told(report(data, 0, read, shadow, matcher), data, read, afresh=True)
        except BudgetExceededError:
            return None

    def _explain_control(self, token_id: int, name: bytes, matcher: GrammarMatcher) -> Reading:
        """Such a token is no text: it is taken where the text may end, or where the grammar names it by its id."""
        taken = matcher.accept_token(token_id)
        ends = "it ends the text" if matcher.is_terminated() else "the grammar names it here"
        kind = f"the {STOP_TOKEN}" if token_id in self._core.matcher.stop_token_ids else "a control token"
        note = f"{kind}: {ends}" if taken else f"{kind}, not text"
        return report(b"" if taken else name or b"?", self.position, 0, self._core.shadow(), matcher, note)

    def told(self, reading: Reading, tried: bytes, read: int = 0, *, afresh: bool = False) -> Reading:
        """`reading` with what is wrong in the words of the schema: `tried` dies after `read` bytes.

        It comes behind the session's text or (`afresh`) is a text from the beginning.
        """
        from workbench.next.naming import naming

        if reading.ok:
            return reading
        named = naming(self, tried, read, afresh=afresh)
        return reading if named is None else replace(reading, about=named.about)

    @property
    def vocabulary(self) -> str:
        """The vocabulary in use by its name, and in place of which one a generation has put it: that of the model."""
        name, before = self._core.tokenizer.name, self._core.model_replaced
        return f"{name} (the model's; {before} before the run)" if before else name

    def frontier(self) -> Frontier:
        """The Earley items after the bytes read so far."""
        return self._core.once("frontier", lambda: self._as_written(self._core.matcher.frontier()))

    def frontiers(self) -> list[Frontier]:
        """The items at the beginning, and after each step up to the place."""
        with self._core.lock:
            matcher, steps = self._core.matcher.fork(), self._core.tape.steps[: self._core.place.index]
            matcher.rollback(matcher.num_steps)
            found = [self._as_written(matcher.frontier())]
            for step in steps:
                play(matcher, [step])
                found.append(self._as_written(matcher.frontier()))
            return found

    def operations(self) -> Operations:
        """What the textbook parser did in the last step: scan, predict, complete, byte by byte."""
        return self._core.once("operations", lambda: self._as_written(self._core.matcher.operations()))

    def token_sets(self) -> TokenSets:
        """The mask of this step grouped by reason: accepted, rejected, uncertain.

        Asked of the shadow, as a mask need not be made from token sets; `storage` and `nbytes` are the engine's.
        """

        def place() -> TokenSets:
            found = self._core.of_state("token_sets", lambda: self._core.shadow().token_sets(self.allowed_array()))
            return self._as_written(
                found if found.position == self.position else replace(found, position=self.position)
            )

        return self._core.once("token_sets", place)

    def _as_written(self, found: Found) -> Found:
        """`found` with the names of the source: of a rule of Lark's the engine may make several."""
        from workbench.provenance.rules import called

        document = self._core.document
        return found.renamed(partial(called, document)) if document.language == "lark" else found

    def rest_callers(self) -> tuple[tuple[RestCaller, ...], ...]:
        """For each of `token_sets().states`, the callers that take or refuse the rests of its uncertain tokens."""
        return self._core.of_state("rest_callers", lambda: self._core.shadow().rest_callers())

    def call_stack(self) -> CallStack:
        """The rules that are open here, from the root to the innermost, with the bytes at which they began.

        `BudgetExceededError` where the text's chart is too large; so for `derivation` and `modes`.
        """
        from kernels_core.inspect.derivation import call_stack

        return self._core.once("call_stack", lambda: self._as_written(call_stack(self._core.matcher)))

    def derivation(self) -> Derivation:
        """The parse tree of the text so far, with open nodes and, where the text is ambiguous, all readings."""
        from kernels_core.inspect.derivation import derivation

        return self._core.once("derivation", lambda: self._as_written(derivation(self._core.matcher)))

    def modes(self) -> Modes:
        """The text so far by modes: free text, a trigger, a tag; and what is watched for at its end."""
        from kernels_core.inspect.dispatch import modes

        return self._core.once("modes", lambda: modes(self._core.matcher))

    def cache_stats(self) -> CacheStats:
        """The engine's counters since this grammar was compiled."""
        with self._core.lock:
            return self._core.compiled.cache_stats()

    def cache_record(self, *, last: int | None = None) -> CacheRecord:
        """Every mask that the engine was asked for since it runs this grammar, or the `last` ones, in order of time.

        Those of generations that the session followed are among them.
        """
        with self._core.lock:
            self._core.ask()
            return self._core.log.record(last=last)

    def automaton(self) -> Automaton:
        """The automata of rules as far as the engine has made them, root first; the same object until it makes more."""
        with self._core.lock:
            return self._core.compiled.automaton()

    def fills(self) -> tuple[FillEvent | None, ...]:
        """How the engine came by its mask after each number of steps, and how long the mask alone took.

        One entry for each place of the history, the first before any step.  None where it was not asked for: after a
        stop token, before what was read at once and is longer than 512 steps, or where a mask is over the budget.
        """
        with self._core.lock:
            self._core.ask()
            self._core.fills.cut(len(self._core.tape))
            missing = len(self._core.tape) + 1 - len(self._core.fills)
            return (*self._core.fills.events, *[None] * missing)

    def mask(self) -> Bitmask:
        """The token mask here: int32, shape (ceil(vocab_size / 32),), bit 1 = allowed, least significant bit first.

        Raises `DeadEndError` where no token of the vocabulary can go on, `MatcherTerminatedError` after the stop token,
        `BudgetExceededError` where it takes more than the engine's budgets: at one place that is tried once.
        """

        def look() -> Bitmask:
            self._core.ask()
            if not self._core.place.offset and (over := self._core.fills.over(self._core.place.index)) is not None:
                raise over.with_traceback(None)
            bitmask: Bitmask = allocate_token_bitmask(1, self._core.tokenizer.info.vocab_size)
            # Inside a token the engine may have no mask, and with some options it keeps none.
            if not self._core.matcher.peek_next_token_bitmask(bitmask):
                self.shadow().fill_next_token_bitmask(bitmask)
            return bitmask.reshape(-1)

        return self._core.once("mask", look).copy()

    def allowed_tokens(self, limit: int = 50, *, starting: bytes = b"") -> list[Candidate]:
        """The first `limit` tokens the mask allows, by id, whose bytes begin with `starting`; stop tokens first."""
        if limit < 0:
            raise ValueError(f"limit must be 0 or more, not {limit}")
        with self._core.lock:
            stops = set(self._core.matcher.stop_token_ids)
            vocab = self._core.compiled.vocab
            allowed = self.allowed_array()
            # Without a beginning to look for, the first ids will do.
            found: list[int] = (allowed if starting else allowed[: limit + len(stops)]).tolist()
            # Stop tokens are allowed together, exactly where the text may end.
            ending = sorted(stops) if self.is_completed and not self.is_terminated and not starting else []
            chosen = [Candidate(i, bytes(vocab[i]), stop=True) for i in ending]
            for token_id in found:
                if len(chosen) >= limit:
                    break
                if token_id not in stops and vocab[token_id].startswith(starting):
                    chosen.append(Candidate(token_id, bytes(vocab[token_id])))
            return chosen[:limit]

    def allowed_ids(self) -> Sequence[int]:
        """The ids the mask allows here, stop tokens included, ascending; empty at a dead end and after a stop token."""
        return self._core.once("allowed", lambda: self.allowed_array().tolist())

    def allowed_array(self) -> Ids:
        """`allowed_ids` as an int32 array, not to be written to."""

        def look() -> Ids:
            try:
                return ids_of(self.mask(), self._core.tokenizer.info.vocab_size)
            except (DeadEndError, MatcherTerminatedError):
                return np.empty(0, dtype=np.int32)

        return self._core.of_state("allowed", look)

    def next_bytes(self) -> bytes:
        """Every byte that can be read here, ascending; empty when only the end is possible."""
        return self._core.once("next_bytes", lambda: possible_bytes(self._core.matcher))

    def next(self, *, seconds: float = 1.0) -> NextTokens:
        """What may come next, by meaning: keys, values, words, closings, with counts of the tokens that write them.

        `seconds` bounds the search; `complete` says whether it came to its end.
        """
        from workbench.next.next_tokens import next_tokens
        from workbench.next.probes import open_end

        with self._core.lock:
            # The parser state decides, and how the text before it is cut into words.
            core = self._core
            state = core.state_key(), *core.once("open end", lambda: (open_end(core.text), core.text[-1:]))
            kept: list[NextTokens] = core.continuations.once(state, "next", list)
            if not kept or not kept[0].serves(seconds):
                kept[:] = [next_tokens(self, seconds=seconds)]
            return replace(kept[0], position=self.position)

    def members(self) -> Members:
        """The objects that are being written, the innermost first: which members are there, which may come, which are
        still required, and whether the object may close.

        Read off the text and its source: a JSON schema, or one in a tag or tool.  Empty where no object is open.
        """
        from workbench.provenance import members

        return self._core.once("members", lambda: members(self))

    def refusals(self, *, reasons: bool = False) -> Refusals:
        """The tokens that cannot come, by the byte at which they die and by what forbids it.

        `reasons`: with the locations in the source that forbid them, which are found by trying (half a second).
        """
        from workbench.next.refusals import refusals, with_reasons

        with self._core.lock:
            found = self._core.once("refusals", lambda: refusals(self))
            if reasons and not found.reasoned:
                found = self._core.seen["refusals"] = with_reasons(self, found)
            return found

    def why(self, what: str | bytes | int) -> Why:
        """Why a text or a token may come here or not: the byte, what was expected, who forbids it, and ways out."""
        from workbench.next.why import why

        return why(self, what)

    def to_svg(self) -> str:
        """The automaton with the active states lit, as one SVG document."""
        with self._core.lock:
            return str(drawn(self, "svg"))

    def to_pdf(self) -> bytes:
        """The same as a PDF, for a paper."""
        with self._core.lock:
            return bytes(drawn(self, "pdf"))
