"""What a session knows where it stands: the parser's own account, the mask, and what may come next and why.

Each method answers for one place and computes its answer at most once while the session stands there (`_once`), or once
for all places in the same parser state (`_of_state`).

Read on: `workbench/session/session.py`, whose part this is; `workbench/next/` and `workbench/session/shadow.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from kernels_core import CompiledGrammar, GrammarMatcher, allocate_token_bitmask
from kernels_core.errors import BudgetExceededError, DeadEndError, MatcherTerminatedError
from kernels_core.inspect.fills import CacheLog, CacheRecord
from visualizers.glyphs import STOP_TOKEN
from workbench.session.history import Place, Tape
from workbench.session.masks import Fills, Known, ids_of
from workbench.session.matching import bytes_of, possible_bytes, read_bytes, report
from workbench.session.result import Candidate, Reading
from workbench.tokenizers import Tokenizer

if TYPE_CHECKING:
    from kernels_core.inspect.derivation import CallStack, Derivation
    from kernels_core.inspect.dispatch import Modes
    from kernels_core.inspect.look import RestCaller
    from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, TokenSets
    from kernels_core.inspect.trace import FillEvent, Operations
    from workbench.next import Outlook, Refusals, Why
    from workbench.provenance import Members
    from workbench.session import Session
    from workbench.session.shadow import Twin

__all__ = ["Knowing"]

T = TypeVar("T")
Bitmask = np.ndarray[Any, np.dtype[np.int32]]
Ids = np.ndarray[Any, np.dtype[np.int32]]


class Knowing:
    """`Session`'s questions to the parser."""

    _lock: threading.RLock
    _tokenizer: Tokenizer
    _compiled: CompiledGrammar
    _matcher: GrammarMatcher
    _tape: Tape
    _place: Place
    _fills: Fills
    _known: Known
    _outlooks: Known
    _log: CacheLog
    _seen: dict[str, Any]
    _before_model = ""
    """The name of the vocabulary in whose place a model's came; "" where none did."""

    if TYPE_CHECKING:

        @property
        def text(self) -> bytes: ...

        @property
        def position(self) -> int: ...

        @property
        def is_completed(self) -> bool: ...

        @property
        def is_terminated(self) -> bool: ...

        def twin(self) -> GrammarMatcher: ...

        def _twin(self) -> Twin: ...

        def _ask(self) -> None: ...

        def _token_bytes(self, token_id: int) -> bytes: ...

    def explain(self, what: str | bytes | int) -> Reading:
        """What would become of this text (or token) here; nothing changes.

        `reading.ok` says whether it can be read; otherwise `reading.message` names the byte at which it dies, what is
        wrong with a member's name, and what was possible there.
        """
        with self._lock:
            twin = self._twin()
            matcher = twin.fork()
            if isinstance(what, (int, np.integer)):
                data = self._token_bytes(int(what))
                if what in self._matcher.stop_token_ids or what in self._tokenizer.info.special_token_ids:
                    return self._explain_control(int(what), data, matcher)
            else:
                data = bytes_of(what)
            read = 0 if matcher.is_terminated() else read_bytes(matcher, data)
            return self._told(report(data, self.position, read, twin, matcher), data, read)

    def _explain_control(self, token_id: int, name: bytes, matcher: GrammarMatcher) -> Reading:
        """Such a token is no text: it is taken where the text may end, or where the grammar names it by its id."""
        taken = matcher.accept_token(token_id)
        ends = "it ends the text" if matcher.is_terminated() else "the grammar names it here"
        kind = f"the {STOP_TOKEN}" if token_id in self._matcher.stop_token_ids else "a control token"
        note = f"{kind}: {ends}" if taken else f"{kind}, not text"
        return report(b"" if taken else name or b"?", self.position, 0, self._twin(), matcher, note)

    def _told(self, reading: Reading, tried: bytes, read: int = 0, *, afresh: bool = False) -> Reading:
        """`reading` with what is wrong in the words of the schema: `tried` dies after `read` bytes.

        It comes behind the session's text or (`afresh`) is a text from the beginning.
        """
        from workbench.next.naming import naming

        if reading.ok:
            return reading
        named = naming(cast("Session", self), tried, read, afresh=afresh)
        return reading if named is None else replace(reading, about=named.about)

    @property
    def vocabulary(self) -> str:
        """The vocabulary in use by its name, and in place of which one a generation has put it: that of the model."""
        name, before = self._tokenizer.name, self._before_model
        return f"{name}, the model's (before: {before})" if before else name

    def frontier(self) -> Frontier:
        """The Earley items after the bytes read so far."""
        return self._once("frontier", self._matcher.frontier)

    def operations(self) -> Operations:
        """What the textbook parser did in the last step: scan, predict, complete, byte by byte."""
        return self._once("operations", self._matcher.operations)

    def token_sets(self) -> TokenSets:
        """The mask of this step grouped by reason: accepted, rejected, uncertain.

        Asked of the twin, as a mask need not be made from token sets; `storage` and `nbytes` are the engine's.
        """

        def place() -> TokenSets:
            found = self._of_state("token_sets", lambda: self._twin().token_sets(self.allowed_array()))
            return found if found.position == self.position else replace(found, position=self.position)

        return self._once("token_sets", place)

    def rest_callers(self) -> tuple[tuple[RestCaller, ...], ...]:
        """For each of `token_sets().states`, the callers that take or refuse the rests of its uncertain tokens."""
        return self._of_state("rest_callers", lambda: self._twin().rest_callers())

    def call_stack(self) -> CallStack:
        """The rules that are open here, from the root to the innermost, with the bytes at which they began.

        `BudgetExceededError` where the text's chart is too large; so for `derivation` and `modes`.
        """
        from kernels_core.inspect.derivation import call_stack

        return self._once("call_stack", lambda: call_stack(self._matcher))

    def derivation(self) -> Derivation:
        """The parse tree of the text so far, with open nodes and, where the text is ambiguous, all readings."""
        from kernels_core.inspect.derivation import derivation

        return self._once("derivation", lambda: derivation(self._matcher))

    def modes(self) -> Modes:
        """The text so far by modes: free text, a trigger, a tag; and what is watched for at its end."""
        from kernels_core.inspect.dispatch import modes

        return self._once("modes", lambda: modes(self._matcher))

    def cache_stats(self) -> CacheStats:
        """The engine's counters since this grammar was compiled."""
        with self._lock:
            return self._compiled.cache_stats()

    def cache_record(self, *, last: int | None = None) -> CacheRecord:
        """Every mask that the engine was asked for since it runs this grammar, or the `last` ones, in order of time.

        Those of generations that the session followed are among them.
        """
        with self._lock:
            self._ask()
            return self._log.record(last=last)

    def automaton(self) -> Automaton:
        """The automata of rules as far as the engine has made them, root first; the same object until it makes more."""
        with self._lock:
            return self._compiled.automaton()

    def fills(self) -> tuple[FillEvent | None, ...]:
        """How the engine came by its mask after each number of steps, and how long the mask alone took.

        One entry for each place of the history, the first before any step.  None where it was not asked for: after a
        stop token, before what was read at once and is longer than 512 steps, or where a mask is over the budget.
        """
        with self._lock:
            self._ask()
            self._fills.cut(len(self._tape))
            missing = len(self._tape) + 1 - len(self._fills)
            return (*self._fills.events, *[None] * missing)

    def mask(self) -> Bitmask:
        """The token mask here: int32, shape (ceil(vocab_size / 32),), bit 1 = allowed, least significant bit first.

        Raises `DeadEndError` where no token of the vocabulary can go on, `MatcherTerminatedError` after the stop token,
        `BudgetExceededError` where it takes more than the engine's budgets: at one place that is tried once.
        """

        def look() -> Bitmask:
            self._ask()
            if not self._place.offset and (over := self._fills.over(self._place.index)) is not None:
                raise over.with_traceback(None)
            bitmask: Bitmask = allocate_token_bitmask(1, self._tokenizer.info.vocab_size)
            # Inside a token the engine may have no mask, and with some options it keeps none.
            if not self._matcher.peek_next_token_bitmask(bitmask):
                self.twin().fill_next_token_bitmask(bitmask)
            return bitmask.reshape(-1)

        return self._once("mask", look).copy()

    def allowed_tokens(self, limit: int = 50, *, starting: bytes = b"") -> list[Candidate]:
        """The first `limit` tokens the mask allows, by id, whose bytes begin with `starting`; stop tokens first."""
        if limit < 0:
            raise ValueError(f"limit must be 0 or more, not {limit}")
        with self._lock:
            stops = set(self._matcher.stop_token_ids)
            vocab = self._compiled.vocab
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
        return self._once("allowed", lambda: self.allowed_array().tolist())

    def allowed_array(self) -> Ids:
        """`allowed_ids` as an int32 array, not to be written to."""

        def look() -> Ids:
            try:
                return ids_of(self.mask(), self._tokenizer.info.vocab_size)
            except (DeadEndError, MatcherTerminatedError):
                return np.empty(0, dtype=np.int32)

        return self._of_state("allowed", look)

    def next_bytes(self) -> bytes:
        """Every byte that can be read here, ascending; empty when only the end is possible."""
        return self._once("next_bytes", lambda: possible_bytes(self._matcher))

    def next(self, *, seconds: float = 1.0) -> Outlook:
        """What may come next, by meaning: keys, values, words, closings, with counts of the tokens that write them.

        `seconds` bounds the search; `complete` says whether it came to its end.
        """
        from workbench.next.outlook import outlook
        from workbench.next.places import open_end

        with self._lock:
            known: Outlook | None = self._seen.get("outlook")
            if known is None or not known.serves(seconds):
                # The parser state decides, and how the text before it is cut into words.
                text = self.text
                state = self._state_key(), open_end(text), text[-1:]
                kept: list[Outlook] = self._outlooks.once(state, "outlook", list)
                if not kept or not kept[0].serves(seconds):
                    kept[:] = [outlook(cast("Session", self), seconds=seconds)]
                known = self._seen["outlook"] = replace(kept[0], position=self.position)
            return known

    def members(self) -> Members:
        """The objects that are being written, the innermost first: which members are there, which may come, which are
        still required, and whether the object may close.

        Read off the text and its source: a JSON schema, or one in a tag or tool.  Empty where no object is open.
        """
        from workbench.provenance import members

        return self._once("members", lambda: members(cast("Session", self)))

    def refusals(self, *, reasons: bool = False) -> Refusals:
        """The tokens that cannot come, by the byte at which they die and by what forbids it.

        `reasons`: with the places of the source that forbid them, which are found by trying (half a second).
        """
        from workbench.next.refusals import refusals, with_reasons

        with self._lock:
            found: Refusals | None = self._seen.get("refusals")
            if found is None:
                found = refusals(cast("Session", self))
            if reasons and not found.reasoned:
                found = with_reasons(cast("Session", self), found)
            self._seen["refusals"] = found
            return found

    def why(self, what: str | bytes | int) -> Why:
        """Why a text or a token may come here or not: the byte, what was expected, who forbids it, and ways out."""
        from workbench.next.why import why

        return why(cast("Session", self), what)

    def _once(self, what: str, make: Callable[[], T]) -> T:
        """The value of `make` at this place, computed at most once while the session stands there.

        What takes more than a budget is not tried again there: each panel that wants it would wait for the limit.
        """
        with self._lock:
            if what not in self._seen:
                try:
                    self._seen[what] = make()
                except BudgetExceededError as error:
                    self._seen[what] = error
            found = self._seen[what]
            if isinstance(found, BudgetExceededError):
                raise found.with_traceback(None)
            return cast(T, found)

    def _of_state(self, what: str, make: Callable[[], T]) -> T:
        """The value of `make`, which depends on the parser state alone, computed once for all places in this state."""
        with self._lock:
            return self._known.once(self._state_key(), what, make)

    def _state_key(self) -> tuple[object, ...]:
        """Equal at places from which the same is allowed."""
        return (*self._matcher.state_key, self._matcher.is_terminated())
