# distutils: language = c++
"""`GrammarMatcher`: one text being generated under a compiled grammar.

A matcher is a pointer to its last step; a step points to the set reached and to the step before.  So rollback and
fork are a pointer each, whatever the length of the text, and forks share their past.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

cimport cython

from kernels_core.distinct_ends cimport distinct_end, is_end
from kernels_core.clock cimport Clock, rest, start_clock, stop_clock
from kernels_core.drafts cimport DraftTree
from kernels_core.earley.machine cimport Passage
from kernels_core.earley.records cimport (
    COUNTS, MARKED, SPENT, SetRec, ms_clock, is_live, known_step, ms_load, ms_store,
)
from kernels_core.earley.token_limits cimport crossed
from kernels_core.forced cimport forced_text
from kernels_core.judging cimport Reading, reading_at
from kernels_core.masks.cache cimport MaskCache, ms_count
from kernels_core.masks.endings cimport NEVER, Ending, ShortestEnds, Span
from kernels_core.masks.item_ends cimport ItemEnds
from kernels_core.masks.mask_table cimport MaskRec, write_mask
from kernels_core.masks.rows cimport BitmaskRows, needs_masking, open_rows, row_at
from kernels_core.remembered cimport Judges, Remembered, is_inside, judges_of
from kernels_core.steps cimport Step, all_shown, history_of, is_among, root, shown, text_of, text_since

from kernels_core.compiled import CompiledGrammar
from kernels_core.errors import (
    BudgetExceededError, DeadEndError, MatcherTerminatedError, OperationCancelledError, TooFewTokensError,
    UnsupportedFeatureError,
)

__all__ = ["GrammarMatcher"]

cdef object _BLANK = object()
cdef int64_t ROOM = 24        # tokens more than an end needs: hardly any token makes it longer than that
cdef int64_t ROOM_TO_DIFFER = 8
cdef int MOST_TRIED = 500     # places from which an end is looked for that repeats no item
cdef str DRAFT = "the masks of a draft tree"


@cython.final
cdef class GrammarMatcher:
    """GrammarMatcher(compiled_grammar, *, override_stop_tokens=None, terminate_without_stop_token=False, on_dead_end="error")

    Follows one text under `compiled_grammar` and says which tokens may come next.

    override_stop_tokens: ids that end the text, instead of the tokenizer's.
    terminate_without_stop_token: the matcher is terminated as soon as the text may end; stop tokens are then never
        allowed.
    on_dead_end: what a mask is where no token of the vocabulary can go on and the text may not end: "error" raises
        `DeadEndError`, "empty" writes a row without any bit.
    max_rollback_tokens: accepted for compatibility and not needed: rollback is unlimited and free.

    A refused token or string, and any error, leaves the matcher as it was.  A matcher is for one thread; matchers of
    the same compiled grammar share everything that was computed.
    """

    # In `__cinit__`, so that no matcher exists without the pointers that its methods follow.
    def __cinit__(self, compiled_grammar, *, override_stop_tokens=None, bint terminate_without_stop_token=False,
                  int max_rollback_tokens=-1, str on_dead_end="error"):
        if compiled_grammar is _BLANK:      # `fork` fills it
            return
        if on_dead_end not in ("error", "empty"):
            raise ValueError(f'on_dead_end is "error" or "empty", not {on_dead_end!r}')
        if not isinstance(compiled_grammar, CompiledGrammar):
            raise TypeError(f"GrammarMatcher takes a CompiledGrammar, not {type(compiled_grammar).__name__}")
        info = compiled_grammar.tokenizer_info
        if override_stop_tokens is None:
            stops = info.stop_token_ids
        else:
            stops = [override_stop_tokens] if isinstance(override_stop_tokens, int) else list(override_stop_tokens)
            for token in stops:
                if not 0 <= token < info.vocab_size:
                    raise ValueError(f"stop token {token} is not in the vocabulary of {info.vocab_size:,} ids")
        self.compiled = compiled_grammar
        self._masks = compiled_grammar.masks
        self._machine = self._masks.machine
        self._trie = self._masks.trie
        self._stops = sorted(set(stops))
        self._own_stops = override_stop_tokens is not None and list(self._stops) != sorted(set(info.stop_token_ids))
        self.terminate_without_stop_token = terminate_without_stop_token
        self.on_dead_end = on_dead_end
        self._deadline = -1
        self._last = root(self._machine)

    # -- moving ---------------------------------------------------------------------------------------------------

    cpdef bint accept_token(self, int token_id) except -1:
        """Take a token; False, and nothing changed, if the grammar does not allow it here.

        A stop token is taken when the text may end, or where the grammar names it by id; the text has then ended,
        unless the grammar named it in the middle of something.  Ids without text (control tokens, padding) are taken
        only where the grammar names them.  An id outside the vocabulary is a `ValueError`.
        """
        if self._tracing is not None:
            return self._traced_step(token_id, None)
        try:
            return self._accept_token(token_id)
        except BudgetExceededError as error:
            self._renew(error)
        return self._accept_token(token_id)

    cdef bint _accept_token(self, int token_id) except -1:
        cdef SetRec* here = self._last.set
        cdef SetRec* source = here
        cdef SetRec* target = self._machine.dead
        cdef bint may_stop
        cdef Reading reading = None
        cdef Remembered remembered = None
        if not 0 <= token_id < self._trie.vocab_size:
            raise ValueError(f"token id {token_id} is not in the vocabulary of {self._trie.vocab_size:,} ids")
        if self._terminated():
            return False
        cdef int32_t first = self._trie.spelling_first[token_id]
        cdef int32_t size = self._trie.spelling_first[token_id + 1] - first
        if here.limits & COUNTS:
            source = self._crossed(here, True)
        if self._machine.marked:
            reading = reading_at(self._machine, self._trie, self._last, source)
        if is_among(self._stops, token_id):
            may_stop = here.completed and not self.terminate_without_stop_token
            if here.tokens:
                target = self._token_step(source, token_id, target, False, reading)
            if reading is not None:
                remembered = reading.remembered
            if target != self._machine.dead:
                return self._push_in_time(target, token_id, None, size, may_stop or target.completed, remembered)
            if may_stop:
                self._push(here, token_id, None, 0, True, self._last.remembered)
            return bool(may_stop)
        if (self._trie.everything[token_id >> 5] >> (token_id & 31)) & 1:
            if reading is None:
                target = self._read(source, self._trie.spelling.data() + first, size)
            else:
                target = self._read_on(reading, self._trie.spelling.data() + first, size)
        if source.tokens:
            target = self._token_step(source, token_id, target,
                                      (self._trie.spelt[token_id >> 5] >> (token_id & 31)) & 1, reading)
        if target == self._machine.dead:
            return False
        if reading is not None:
            remembered = reading.remembered
        return self._push_in_time(target, token_id, None, size, False, remembered)

    def accept_string(self, text):
        """Take text (str as UTF-8, or bytes) as one step of the history; False, and nothing changed, if refused."""
        if self._tracing is not None:
            return self._traced_step(-1, text)
        cdef bytes spelling = text.encode() if isinstance(text, str) else bytes(text)
        try:
            return self._accept_string(spelling)
        except BudgetExceededError as error:
            self._renew(error)
        return self._accept_string(spelling)

    cdef bint _accept_string(self, bytes spelling) except -1:
        if self._terminated():
            return not spelling
        cdef Reading reading = None
        cdef Remembered remembered = None
        cdef SetRec* target
        if self._machine.marked:
            reading = reading_at(self._machine, self._trie, self._last, self._last.set)
            target = self._read_on(reading, <const uint8_t*><const char*>spelling, len(spelling))
            remembered = reading.remembered
        else:
            target = self._read(self._last.set, <const uint8_t*><const char*>spelling, len(spelling))
        if target == self._machine.dead:
            return False
        return self._push_in_time(target, -1, spelling, <int>len(spelling), False, remembered)

    def rollback(self, int num_tokens=1):
        """Undo the last `num_tokens` steps; `ValueError` if there are fewer.  Zero or less does nothing."""
        cdef Step at = self._last
        if num_tokens > at.count:
            raise ValueError(f"cannot roll back {num_tokens} steps: only {at.count} were taken")
        for _ in range(num_tokens):
            at = at.parent
        self._last = at
        if self._tracing is not None:
            self._tracing.moved()

    def reset(self):
        """Back to the beginning, with an empty history, and without what `complete_within` asked for."""
        self._last, self._deadline = root(self._machine), -1
        self.rollback(0)

    def fork(self):
        """An independent matcher at the same place, sharing the past."""
        cdef GrammarMatcher other = GrammarMatcher.__new__(GrammarMatcher, _BLANK)
        other.compiled, other._masks, other._machine, other._trie = self.compiled, self._masks, self._machine, self._trie
        other._last, other._stops, other._own_stops = self._last, self._stops, self._own_stops
        other.terminate_without_stop_token, other.on_dead_end = self.terminate_without_stop_token, self.on_dead_end
        other.cancel_token, other._deadline, other._redraws = self.cancel_token, self._deadline, self._redraws
        other._room = self._room
        return other

    cdef int _renew(self, error) except -1:
        """Go on where there is room: in the grammar's present parser states, or in new ones; else raise `error`.

        New ones must not be half full after the text was read again: the next renewal would come too soon, and cost more
        than it brings.
        """
        if self._masks.held() <= self._machine.max_bytes:
            raise error                     # out of time, or of something else than bytes
        if self._move(self.compiled.with_room(self._machine), self._machine.max_bytes):
            return 0
        masks = self.compiled.made_anew()
        if not self._move(masks, self._machine.max_bytes // 2):
            raise error
        self.compiled.renew(masks)
        return 0

    cdef bint _move(self, MaskCache masks, size_t limit) except -1:
        """Read the text again in `masks` and stay there; False, and nothing changed, if that needs over `limit` bytes."""
        cdef GrammarMatcher probe
        cdef Step step = self._last
        cdef list steps = []
        if masks is None:
            return False
        while step.parent is not None:
            steps.append(step)
            step = step.parent
        probe = self.fork()
        probe._masks, probe._machine, probe._last, probe._deadline = masks, masks.machine, root(masks.machine), -1
        try:
            for step in reversed(steps):
                if not (probe._accept_token(step.token) if step.token >= 0 else probe._accept_string(step.spelling)):
                    raise RuntimeError(f"parser states made anew refuse step {step.count} of the same text")
        except BudgetExceededError:
            return False
        if masks.held() > limit:
            return False
        self._masks, self._machine, self._last = probe._masks, probe._machine, probe._last
        return True

    cdef SetRec* _crossed(self, SetRec* source, bint begins) except NULL:
        """Where a token that begins at `source` is read, or `source` at the end of a step (`earley/token_limits.pyx`)."""
        cdef Clock clock
        self._start(&clock)
        try:
            with nogil:
                return crossed(self._machine, source, begins)
        finally:
            stop_clock(&clock)

    cdef SetRec* _read(self, SetRec* at, const uint8_t* text, Py_ssize_t size) except NULL:
        """Where `text` leads; `machine.dead` if it is refused.  Known transitions take neither lock nor GIL release."""
        cdef SetRec* known
        cdef Py_ssize_t i, misses = 0
        cdef Clock clock
        try:
            for i in range(size):
                if not is_live(at, text[i]):
                    return self._machine.dead
                known = known_step(at, text[i])
                if known == NULL:
                    if misses == 0:
                        self._start(&clock)
                    elif misses & 1023 == 0:    # a string is long: so many bytes have the time of one step
                        clock.began, clock.due = -1, -1
                    misses += 1
                    with nogil:
                        known = self._machine.advance_locked(at, text[i])
                at = known
        finally:
            if misses:
                stop_clock(&clock)
        self._machine.step_hits_ += size - misses
        return at

    cdef SetRec* _read_on(self, Reading reading, const uint8_t* text, Py_ssize_t size) except NULL:
        """`_read` where predicates judge texts; what is to be remembered is then in `reading`."""
        cdef Py_ssize_t i
        cdef Clock clock
        self._start(&clock)
        try:
            for i in range(size):
                if i & 1023 == 1023:
                    clock.began, clock.due = -1, -1
                if not reading.read(text[i]):
                    return self._machine.dead
        finally:
            stop_clock(&clock)
        self._machine.step_hits_ += size
        return reading.at

    cdef Reading _reading(self):
        """A reader of the next token's bytes."""
        cdef SetRec* here = self._last.set
        return reading_at(self._machine, self._trie, self._last,
                          self._crossed(here, True) if here.limits & COUNTS else here)

    cdef void _start(self, Clock* clock) noexcept:
        """Let `clock` run for what one step, or one mask, may take."""
        start_clock(clock, self._masks.max_fill_ms, self.cancelled(), <PyObject*>self._machine.where)

    cdef const int* cancelled(self) noexcept:
        """What becomes 1 when the cancel token is used; NULL without one."""
        return <const int*>NULL if self.cancel_token is None else &self.cancel_token.flag

    cdef SetRec* _token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text,
                             Reading reading) except NULL:
        """`Machine.token_step` from `source`; `reading` has read the token's bytes, if it has any."""
        cdef SetRec* target
        cdef Passage whole
        cdef Clock clock
        self._start(&clock)
        try:
            with nogil:
                target = self._machine.token_step(source, token, spelt, has_text, &whole)
        finally:
            stop_clock(&clock)
        if reading is not None and whole.target != self._machine.dead:
            if spelt == self._machine.dead:
                reading.rewind()
            elif whole.marks != NULL or reading.remembered is not self._last.remembered:
                raise UnsupportedFeatureError(
                    "a token is read by its id and by its bytes where texts are judged; use another token")
            reading.take_whole(token, whole.marks)
        return target

    cdef int _push(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                   Remembered remembered) except -1:
        cdef Step step = Step.__new__(Step)
        if target.limits & SPENT:
            target = self._crossed(target, False)
        step.set, step.parent, step.token, step.spelling, step.stop = target, self._last, token, spelling, stop
        step.position = self._last.position + length
        step.count = self._last.count + 1
        step.tokens = self._last.tokens + (token >= 0)
        step.remembered = remembered
        self._last = step
        return 0

    cdef bint _push_in_time(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                            Remembered remembered) except -1:
        """`_push`, unless the text could not end in time then (`complete_within`); whether it was done."""
        cdef Step before = self._last
        self._push(target, token, spelling, length, stop, remembered)
        if self._deadline >= 0 and not self._is_in_time(self._deadline - self._last.tokens):
            self._last = self._refused_at = before
            return False
        return True

    cdef bint _names(self, int token) except -1:
        """Whether the grammar names `token` here, by id."""
        cdef SetRec* source = self._last.set
        cdef bint found = False
        if source.tokens:
            with nogil:
                found = self._machine.names(source, token)
        return found

    cdef bint _terminated(self) noexcept:
        return self._last.stop or (self.terminate_without_stop_token and self._last.set.completed)

    # -- asking ---------------------------------------------------------------------------------------------------

    def is_completed(self):
        """Whether the text may end here."""
        return bool(self._last.set.completed)

    def is_terminated(self):
        """Whether the text has ended: a stop token was taken (or it may end, with `terminate_without_stop_token`)."""
        return self._terminated()

    def fill_next_token_bitmask(self, bitmask, int index=0):
        """Write the mask of the next token into row `index` of `bitmask`; False if every bit of the row is set.

        `bitmask`: writable int32 numpy array or CPU torch tensor, shape (batch, words) or (words,), with words at
        least ceil(vocab_size / 32); surplus words are cleared.
        Raises `MatcherTerminatedError` after the end, `DeadEndError` (the row is then untouched) when no token of the
        vocabulary can go on and the text may not end here, unless `on_dead_end` asks for an empty row.
        """
        if self._terminated():
            raise MatcherTerminatedError("the text has ended: roll back or reset before asking for a mask")
        return self._write(self._mask(), bitmask, index)

    def peek_next_token_bitmask(self, bitmask, int index=0):
        """`fill_next_token_bitmask` where the mask is known here: whether it is; if not, nothing is written.

        For those who look: nothing is made, and nothing is counted.
        """
        cdef MaskRec* mask = <MaskRec*>ms_load(&self._last.set.mask)
        if self._machine.marked and mask != NULL:
            mask = self._answer if self._asked is self._last else NULL
        if self._deadline >= 0 and mask != NULL:
            mask = self._known_in_time(mask)
        if mask == NULL or self._terminated():
            return False
        self._write(mask, bitmask, index)
        return True

    cdef bint _write(self, MaskRec* mask, bitmask, int index) except -1:
        """Write `mask`, with the stop tokens, into row `index`; whether some bit of the row is 0."""
        cdef bint may_stop = self._last.set.completed and not self.terminate_without_stop_token
        cdef int words = self._trie.words
        cdef uint32_t* row
        cdef BitmaskRows rows
        cdef size_t i
        if mask.population <= <int64_t>self._stops.size() and not (may_stop and self._stops.size()):
            self._with_stops(mask, False)       # nothing may be left of it
        cdef object _kept = open_rows(bitmask, &rows)
        row = row_at(&rows, index, words)
        write_mask(mask, row, words)
        if rows.words > words:
            memset(row + words, 0, (rows.words - words) * sizeof(uint32_t))
        for i in range(self._stops.size()):
            if may_stop or self._names(self._stops[i]) and self._takes(self._stops[i]):
                row[self._stops[i] >> 5] |= <uint32_t>1 << (self._stops[i] & 31)
            else:
                row[self._stops[i] >> 5] &= ~(<uint32_t>1 << (self._stops[i] & 31))
        return needs_masking(row, rows.words)

    def is_prepared(self):
        """Whether there is nothing to prepare: the mask here is known, or never remembered, or the text has ended."""
        return self._is_prepared()

    cdef bint _is_prepared(self) noexcept:
        cdef MaskRec* mask = <MaskRec*>ms_load(&self._last.set.mask)
        if self._terminated() or not self._masks.memoize:
            return True
        return mask != NULL and (self._deadline < 0 or self._known_in_time(mask) != NULL)

    def prepare(self):
        """Compute the mask here if it is not known yet, without holding the GIL."""
        if not self.is_prepared():
            self._mask()

    def mask_number(self):
        """The number of the interned mask here, stop tokens included; None when the text has ended.

        Equal numbers under one `masks` are equal masks; `masks.mask(number)` lists it.  `DeadEndError` and the errors of
        a budget are those of `fill_next_token_bitmask`.
        """
        return None if self._terminated() else self.whole_mask().number

    cdef MaskRec* whole_mask(self, bint may_be_empty=False) except NULL:
        """The mask here with the stop tokens that may come; `DeadEndError` where it would be empty, unless it may."""
        return self._with_stops(self._mask(), may_be_empty)

    cdef MaskRec* _with_stops(self, MaskRec* mask, bint may_be_empty) except NULL:
        """`whole_mask`, from the mask without them."""
        cdef MaskRec* whole = mask
        cdef SetRec* here = self._last.set
        cdef bint may_stop = here.completed and not self.terminate_without_stop_token
        cdef bint usual = not self._own_stops and not here.tokens     # then no stop token is in `mask`
        cdef vector[int32_t] allowed, refused
        cdef size_t i
        if not usual or may_stop and self._stops.size():
            whole = <MaskRec*>ms_load(&mask.ended) if usual else NULL
            if whole == NULL:
                for i in range(self._stops.size()):
                    if may_stop or self._names(self._stops[i]) and self._takes(self._stops[i]):
                        allowed.push_back(self._stops[i])
                    else:
                        refused.push_back(self._stops[i])
                with nogil:
                    whole = self._masks.with_stops(mask, allowed, refused)
                if usual:
                    ms_store(&mask.ended, whole)
        if whole.population == 0 and self.on_dead_end == "error" and not may_be_empty:
            self._dead_end()
        return whole

    cdef MaskRec* _mask(self) except NULL:
        cdef MaskRec* mask
        if self._tracing is not None:
            return self._traced_mask()
        mask = <MaskRec*>ms_load(&self._last.set.mask)
        if mask != NULL and not self._machine.marked:
            if self._deadline >= 0:
                mask = self._known_in_time(mask)
            if mask != NULL:
                ms_count(&self._masks.mask_hits)
                return mask
        try:
            try:
                if mask == NULL and self._masks.held() > self._machine.max_bytes:
                    raise BudgetExceededError("bytes of parser states", self._machine.max_bytes, self._machine.where)
                mask = self._mask_once()
            except BudgetExceededError as error:
                self._renew(error)
                mask = self._mask_once()
        except BudgetExceededError as error:
            raise BudgetExceededError(error.what, error.limit, f"mask {self._place()}") from error
        except OperationCancelledError as error:
            raise OperationCancelledError(f"mask {self._place()}: called off") from error
        return mask

    cdef MaskRec* _mask_once(self) except NULL:
        cdef MaskRec* mask
        cdef const int* cancelled = self.cancelled()
        with nogil:
            mask = self._masks.mask_of(self._last.set, cancelled)
        if self._machine.marked:
            mask = self._without_refused(mask)
        return mask if self._deadline < 0 else self._in_time(mask)

    cdef MaskRec* _without_refused(self, MaskRec* mask) except NULL:
        """`mask` without the tokens that predicates refuse."""
        cdef vector[int32_t] nothing, found, refused
        cdef int32_t token
        cdef Judges judges
        cdef Reading reading
        cdef MaskRec* left = mask
        cdef Clock clock
        if self._asked is self._last:
            return self._answer
        if self._masks.item_ends is None:
            judges = judges_of(self._machine)
            self._masks.item_ends = ItemEnds(self._trie, self._machine, anywhere=len(judges.predicates) > 1,
                                             watches=judges.watches)
        self._start(&clock)
        try:
            reading = self._reading()
            reading.find_refused(self._masks.item_ends, found)
            for token in found:
                # It may still be taken by its id.
                if not self._last.set.tokens or self._token_step(
                        reading.source, token, self._machine.dead,
                        (self._trie.spelt[token >> 5] >> (token & 31)) & 1, None) == self._machine.dead:
                    refused.push_back(token)
            if refused.size():
                with nogil:
                    left = self._masks.with_stops(mask, nothing, refused)
        finally:
            stop_clock(&clock)
        self._asked, self._answer = self._last, left
        return left

    cdef MaskRec* _traced_mask(self) except NULL:
        """`_mask`, with an event of how it was found; counters of other threads' fills may be in it."""
        cdef MaskRec* mask
        cdef object tracing = self._tracing
        cdef int64_t made = self._masks.state_misses, pool = self._masks.pool_hits, partial = self._masks.partial_hits
        cdef int64_t hits = self._masks.state_hits
        cdef bint known = ms_load(&self._last.set.mask) != NULL
        cdef int64_t started = ms_clock(), spent
        self._tracing = None
        try:
            mask = self._mask()
            spent = ms_clock() - started
        finally:
            self._tracing = tracing
        tracing.fill(spent, 4 * (mask.id_count + mask.removed_count + (0 if mask.words == NULL else self._trie.words)),
                     known, self._masks.state_misses - made, self._masks.pool_hits - pool,
                     self._masks.partial_hits - partial, self._masks.state_hits - hits)
        return mask

    cdef bint _traced_step(self, int token_id, text) except -1:
        """`accept_token`, or `accept_string` if there is a `text`, with an event; refusals make none."""
        cdef object tracing = self._tracing
        cdef MaskCache masks = self._masks
        cdef Step before = self._last
        cdef int64_t made = self._machine.step_misses_, started = ms_clock(), spent
        cdef bint taken
        self._tracing = None
        try:
            taken = self.accept_token(token_id) if text is None else self.accept_string(text)
            spent = ms_clock() - started
            if taken and self._last is not before:
                tracing.step(shown(self._last, self._trie, self._stops), spent, self._machine.step_misses_ - made)
        except BaseException:
            self._masks, self._machine, self._last = masks, masks.machine, before
            raise
        finally:
            self._tracing = tracing
        return taken

    def trace(self):
        """`with matcher.trace() as events:` lists what happens meanwhile (`inspect.trace.Events`).

        A `StepEvent` for every token and string taken, with the parser's operations at each byte, a `FillEvent` for every
        mask asked for.  Takes far longer than the engine alone, and nothing while nobody traces.
        """
        from kernels_core.inspect.trace import Tracing

        return Tracing(self)

    def set_trace(self, tracing):
        """Tell this `inspect.trace.Tracing` of events from now on; None stops.  Returns what was set before."""
        before, self._tracing = self._tracing, tracing
        return before

    def operations(self):
        """What the textbook parser did in the last step (`inspect.trace.Operations`)."""
        from kernels_core.inspect.trace import operations

        return operations(self, self._kept_chart())

    def parser_events(self):
        """The parser's operations (`inspect.trace.ParserEvent`) for the whole text read, in order."""
        from kernels_core.inspect.trace import parser_events

        return parser_events(self)

    cdef str _place(self):
        """Where the text is, for errors: bytes read and rules being read."""
        table, items = self.compiled.state_table, self._machine.set_items(self._last.set.number)
        waiting = sorted({table.rule_name(state) for state, _, _ in items if table.rule_of[state] >= 0})
        if not waiting:
            return f"after {self._last.position} bytes: the text is complete and there is no stop token"
        return f"after {self._last.position} bytes, inside " + ", ".join(repr(name) for name in waiting[:5])

    cdef int _dead_end(self) except -1:
        raise DeadEndError(f"no token of the vocabulary can go on {self._place()}")

    def allowed_token_ids(self):
        """Ids that the mask allows, stop tokens included, ascending; empty after the end or at a dead end."""
        if self._terminated():
            return []
        cdef bint may_stop = self._last.set.completed and not self.terminate_without_stop_token
        cdef MaskRec* mask
        try:
            mask = self._mask_once()
        except BudgetExceededError as error:
            self._renew(error)
            mask = self._mask_once()
        stops = [token for token in self.stop_token_ids if may_stop or self._names(token) and self._takes(token)]
        return sorted({*self._masks.ids_of(mask)} - {*self.stop_token_ids} | {*stops})

    def possible_bytes(self):
        """The bytes that can come next, as inclusive ranges; whole tokens named by id do not count."""
        cdef SetRec* here = self._last.set
        cdef Reading reading = None
        cdef int byte, first = -1
        cdef list ranges = []
        if self._terminated():
            return ()
        if here.limits & MARKED:
            reading = reading_at(self._machine, self._trie, self._last, here)
        for byte in range(257):
            if reading is not None:
                reading.rewind()
            if byte < 256 and is_live(here, byte) and (reading is None or reading.read(<uint8_t>byte)):
                if first < 0:
                    first = byte
            elif first >= 0:
                ranges.append((first, byte - 1))
                first = -1
        return tuple(ranges)

    def refusing_rule(self, int byte):
        """The rule with a text that would end with `byte`, or before it, and that its predicate refuses (or items are to
        differ, and it is equal to one before it).  None where `byte` may come, or that is not why it may not."""
        cdef Step last = self._last
        cdef Reading reading = reading_at(self._machine, self._trie, last, last.set)
        cdef bytes text
        if not 0 <= byte < 256 or self._terminated() or reading.read(<uint8_t>byte):
            return None
        if reading.refusing is not None or last.parent is None:
            return reading.refusing
        text = last.spelling if last.token < 0 else self._trie.token_bytes(last.token)
        reading = reading_at(self._machine, self._trie, last.parent, self._crossed(last.parent.set, True)
                             if last.parent.set.limits & COUNTS else last.parent.set)
        return reading.refusing if all([reading.read(before) for before in text]) else None

    # -- an end in time -------------------------------------------------------------------------------------------

    def tokens_to_end(self):
        """In how many tokens of text an end can certainly be reached, a stop token not counted; None: there is no end.

        0 where the text may end.  The number is an upper bound: the shortest text in bytes, cut so that no token begins
        in one rule and ends in another (rules that are spelt out where they are called do not count as such).
        `UnsupportedFeatureError` where no end was found and there may be one: the vocabulary lacks a token for a byte
        alone, a limit of tokens is less than the text needs, or all items that were tried repeat others.
        """
        cdef int64_t found = self._to_end_with_room()
        if found < NEVER:
            return found
        self._refuse_endless()
        return None

    cdef int64_t _to_end_with_room(self) except -1:
        try:
            return self._to_end()
        except BudgetExceededError as error:
            self._renew(error)
        return self._to_end()

    def shortest_end(self, int64_t max_bytes=65_536):
        """The fewest bytes after which the text may end, whatever the vocabulary; None where there are none, or more
        than `max_bytes`, or where a token without text is needed.

        Where items are to differ (`uniqueItems`) they may be more than the fewest.
        """
        cdef ShortestEnds endings
        cdef vector[uint8_t] text
        cdef int64_t found
        cdef Clock clock
        if self._terminated():
            return None
        endings = self._masks.find_endings(True)
        if self._machine.marked and not self._last.set.completed:
            plan = self._plan(self._masks.find_endings(), MOST_TRIED)
            return None if plan is None or len(plan) > max_bytes else plan
        self._start(&clock)
        try:
            with nogil:
                self._machine.lock.lock()
                try:
                    found = endings.text(self._last.set, max_bytes, text)
                finally:
                    self._machine.lock.unlock()
        finally:
            stop_clock(&clock)
        return None if found < 0 else <bytes>(<char*>text.data())[:text.size()] if text.size() else b""

    def complete_within(self, max_tokens, *, bint redraws=False):
        """Let the text end within `max_tokens` tokens from here: tokens behind which that cannot be done are refused.

        A stop token needs none of them: the text is whole when they are spent, with a stop token or without.  Strings
        (`accept_string`) count as no token.  None lifts the limit, and so does `reset`; forks have it, too.

        redraws: for those who draw again where `accept_token` refuses a token that the mask allowed.  Far from the end
        the mask is then the ordinary one, at the cost of a comparison, and becomes exact where a token was refused;
        otherwise it is exact everywhere, and each new parser state costs a walk over the vocabulary.

        `TooFewTokensError` for fewer than the shortest text that was found takes, `UnsupportedFeatureError` as of
        `tokens_to_end`.
        """
        cdef int64_t found
        if max_tokens is None:
            self._deadline = -1
            return
        if max_tokens < 0:
            raise ValueError(f"max_tokens must be at least 0, not {max_tokens!r}")
        for token in self._stops if self._own_stops else ():
            if (self._trie.everything[<int>token >> 5] >> (<int>token & 31)) & 1:
                raise UnsupportedFeatureError(f"stop token {token} is a token of text, so an end cannot be counted")
        if self._terminated():
            return
        found = self._to_end_with_room()
        if found >= NEVER:
            self._refuse_endless()
            raise DeadEndError(f"there is no end of a text {self._place()}")
        if found > max_tokens:
            raise TooFewTokensError(found, max_tokens)
        self._deadline, self._redraws, self._room = self._last.tokens + <int64_t>max_tokens, redraws, ROOM
        if self._machine.marked:        # ends are longer than the parser says, and may come to be by as much again
            self._room = ROOM_TO_DIFFER + 2 * max(0, found - self._least_to_end(self._last.set))

    @property
    def tokens_left(self):
        """Of the tokens of `complete_within`, those that are left; None without such a limit."""
        return None if self._deadline < 0 else self._deadline - self._last.tokens

    cdef int _refuse_endless(self) except -1:
        if self._last.set.limits & COUNTS or self._machine.tables.limits_tokens:
            raise UnsupportedFeatureError(
                f"a rule limits its tokens (max_tokens) to fewer than its shortest text takes, {self._place()}: raise "
                f"the limit, or do without a text that ends in time")
        if self._masks.find_endings().lacking:
            raise UnsupportedFeatureError(
                f"no end was found {self._place()} of bytes that are tokens by themselves, and the vocabulary has not "
                f"all of them: use one that has a token for each byte")
        if self._machine.marked and self._least_to_end(self._last.set) < NEVER:
            raise UnsupportedFeatureError(
                f"no end was found {self._place()} that its predicates take (as of uniqueItems)")
        return 0

    cdef bint _is_in_time(self, int64_t left) except -1:
        """Whether `left` tokens are enough for an end of the text.

        Where items are to differ that is looked at when they become scarce.  Then the last step has to go along a text
        that was found, or to bring the end nearer: to where the end that the parser says repeats nothing.
        """
        cdef int64_t least = self._least_to_end(self._last.set)
        cdef vector[int32_t] first
        cdef ShortestEnds endings
        if not self._machine.marked or least + self._room // 2 <= left:      # half of it: see `_in_time_distinct`
            return least <= left
        if not self._is_planned() and least >= self._least_to_end(self._last.parent.set):
            return False
        endings = self._masks.find_endings()
        return self._cut(self._plan(endings, 1), endings, 0, first) <= left

    cdef bint _is_planned(self) except -1:
        """Whether the last step went along the text that was to end the text before it; that goes on, then."""
        cdef Step before = self._last.parent
        cdef bytes spelling, ahead
        if before is None or before.plan is None or self._last.plan is not None:
            return self._last.plan is not None
        spelling = text_since(self._last, self._trie, before.position)
        if not before.plan.startswith(spelling):
            return False
        ahead = before.plan[len(spelling):]
        if not is_end(reading_at(self._machine, self._trie, self._last, self._last.set), ahead):
            return False                # the token was taken by its id
        self._last.plan = ahead
        return True

    cdef int64_t _to_end(self) except -1:
        """Tokens to an end of the text; NEVER: none was found."""
        cdef int64_t found = self._least_to_end(self._last.set)
        cdef ShortestEnds endings
        cdef vector[int32_t] first
        if not self._machine.marked or found == 0 or found >= NEVER:
            return found
        endings = self._masks.find_endings()
        return self._cut(self._plan(endings, MOST_TRIED), endings, 0, first)

    cdef int64_t _cut(self, bytes text, ShortestEnds endings, int64_t left, vector[int32_t]& first) except -1:
        """`ShortestEnds.cut`; NEVER for None."""
        cdef const char* spelling
        if text is None:
            return NEVER
        spelling = text
        return endings.cut(<const uint8_t*>spelling, len(text), left, first)

    cdef bytes _plan(self, ShortestEnds endings, int most):
        """A text that ends this one, where items are to differ; None: none was found from `most` places.

        It is the rest of what was found before, if the last step went along that.
        """
        cdef Clock clock
        if not self._is_planned():
            self._start(&clock)
            try:
                self._last.plan = distinct_end(
                    reading_at(self._machine, self._trie, self._last, self._last.set), endings, most)
            finally:
                stop_clock(&clock)
        return self._last.plan

    cdef int64_t _least_to_end(self, SetRec* at) except -1:
        """Tokens to an end of a text that is at `at`, if no items are to differ; NEVER: there is none."""
        cdef Ending* known = <Ending*>ms_load(&at.ending)
        cdef ShortestEnds endings
        cdef int64_t found
        cdef Clock clock
        if at == self._last.set and self._terminated():
            return 0
        if known == NULL:
            endings = self._masks.find_endings()
            self._start(&clock)
            try:
                with nogil:
                    self._machine.lock.lock()
                    try:
                        self._machine.check_budget()
                        found = endings.to_end(at)
                    finally:
                        self._machine.lock.unlock()
            finally:
                stop_clock(&clock)
        else:
            found = known.tokens
        return found

    cdef bint _is_far(self) noexcept:
        """Whether so many tokens are left that hardly any is refused: the caller draws again where one is."""
        cdef Ending* known = <Ending*>ms_load(&self._last.set.ending)
        return (self._redraws and known != NULL and known.tokens + self._room < self._deadline - self._last.tokens
                and self._refused_at is not self._last)

    cdef MaskRec* _known_in_time(self, MaskRec* mask) noexcept:
        """`mask` without the tokens behind which the text cannot end in time, if that is known; else NULL."""
        cdef Ending* known = <Ending*>ms_load(&self._last.set.ending)
        cdef int64_t left = self._deadline - self._last.tokens - 1
        cdef Span* span
        if self._is_far():
            return mask
        if known == NULL or self._machine.marked:
            return NULL                     # or it depends on more than the set
        span = <Span*>ms_load(&known.spans)
        while span != NULL:
            if span.low <= left < span.high:
                return span.mask
            span = span.next
        return NULL

    cdef MaskRec* _in_time(self, MaskRec* mask) except NULL:
        """`mask` without the tokens behind which the text cannot end in time."""
        cdef MaskRec* known = self._known_in_time(mask)
        cdef ShortestEnds endings
        cdef int64_t left = self._deadline - self._last.tokens - 1
        cdef vector[int32_t] ids
        cdef vector[int64_t] lengths
        cdef GrammarMatcher probe
        cdef Clock clock
        if known != NULL:
            return known
        endings = self._masks.find_endings()
        if self._machine.marked:
            return self._in_time_distinct(mask, endings)
        self._to_end()
        if self._last.set.tokens:
            probe = self.fork()
            probe._deadline = -1
            for token in self._masks.ids_of(mask):
                ids.push_back(token)
                lengths.push_back(probe._behind(token))
        self._start(&clock)
        try:
            with nogil:
                self._machine.lock.lock()
                try:
                    if self._last.set.tokens:
                        known = endings.keep(self._last.set, mask, left, ids, lengths)
                    else:
                        known = endings.filtered(self._last.set, mask, left)
                finally:
                    self._machine.lock.unlock()
        finally:
            stop_clock(&clock)
        return known

    cdef MaskRec* _in_time_distinct(self, MaskRec* mask, ShortestEnds endings) except NULL:
        """`_in_time` where items are to differ: once tokens become scarce, those that bring the end nearer are tried.

        What leaves `_room` tokens more than it needs is allowed by what the parser says.  It may need a little more
        than that where the end of an item is left out, as it would repeat one, and the item goes on.
        """
        cdef int64_t left = self._deadline - self._last.tokens - 1
        cdef GrammarMatcher probe
        cdef MaskRec* whole = <MaskRec*>ms_load(&self._last.set.mask)
        cdef MaskRec* sure
        cdef MaskRec* possible
        cdef vector[int32_t] allowed, planned
        cdef object certain = (), tried
        if self._asked_in_time is self._last:
            return self._answer_in_time
        if whole != NULL and not self._last.set.tokens:
            with nogil:
                self._machine.lock.lock()
                try:
                    sure = endings.filtered(self._last.set, whole, left - self._room)
                    possible = endings.filtered(self._last.set, whole, endings.to_end(self._last.set) - 1)
                finally:
                    self._machine.lock.unlock()
            if sure == whole:
                return mask
            certain = set(self._masks.ids_of(mask)).intersection(self._masks.ids_of(sure))
            tried = set(self._masks.ids_of(mask)).intersection(self._masks.ids_of(possible)).difference(certain)
        else:
            tried = self._masks.ids_of(mask)
        self._cut(self._plan(endings, MOST_TRIED), endings, left, planned)
        tried = set(planned).intersection(self._masks.ids_of(mask)).union(tried).difference(certain)
        probe = self.fork()
        probe._deadline = -1
        for token in certain:
            allowed.push_back(token)
        for token in tried:
            if probe._is_in_time_behind(token, left):
                allowed.push_back(token)
        with nogil:
            self._machine.lock.lock()
            try:
                mask = endings.only(mask, allowed)
            finally:
                self._machine.lock.unlock()
        self._asked_in_time, self._answer_in_time = self._last, mask
        return mask

    cdef bint _is_in_time_behind(self, int token, int64_t left) except -1:
        """Whether `token` may come next and `left` tokens are enough behind it; the matcher stays where it is."""
        cdef Step before = self._last
        try:
            return self._accept_token(token) and self._is_in_time(left)
        finally:
            self._last = before

    cdef int64_t _behind(self, int token) except -1:
        """Tokens to an end of the text behind `token`, which may come next; the matcher stays where it is."""
        cdef Step before = self._last
        cdef int64_t found = NEVER
        try:
            if self._accept_token(token):
                found = self._to_end()
        finally:
            self._last = before
        return found

    cdef bint _takes(self, int token) except -1:
        """Whether the text can end in time behind `token`, which may come next."""
        cdef GrammarMatcher probe
        if self._deadline < 0:
            return True
        probe = self.fork()
        probe._deadline = -1
        return probe._behind(token) < self._deadline - self._last.tokens

    # -- looking ahead --------------------------------------------------------------------------------------------

    def find_jump_forward_string(self, int max_bytes=65_536):
        """The longest text that must come next, at most `max_bytes` bytes; "" where there is a choice.

        Stops where the text may end, where a whole token may be taken by its id, and before bytes that are no
        complete UTF-8 sequence.
        """
        cdef bytes text
        try:
            text = self._forced(max_bytes)
        except BudgetExceededError as error:
            self._renew(error)
            text = self._forced(max_bytes)
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            return text[:error.start].decode()

    cdef bytes _forced(self, int most):
        cdef Clock clock
        if self._terminated():
            return b""
        self._start(&clock)
        try:
            return forced_text(reading_at(self._machine, self._trie, self._last, self._last.set), most)
        finally:
            stop_clock(&clock)

    def find_forced_tokens(self, int max_tokens=256):
        """Token ids that must come next: as long as the mask allows one token only, and the text may not end."""
        cdef GrammarMatcher probe = self.fork()
        cdef list forced = []
        while len(forced) < max_tokens and not probe._terminated() and probe.whole_mask(True).population == 1:
            forced += probe.allowed_token_ids()
            probe.accept_token(forced[-1])
        return forced

    def traverse_draft_tree(self, retrieve_next_token, retrieve_next_sibling, draft_tokens, token_bitmask,
                            double time_threshold=-1.0):
        """Masks for a whole tree of draft tokens; False if `time_threshold` seconds ran out before the end.

        Node i proposes token `draft_tokens[i]`; its first child is `retrieve_next_token[i]`, its next sibling
        `retrieve_next_sibling[i]`, -1 for none; node 0 is the root, whose token was accepted.  Row i of `token_bitmask`
        gets the mask after the path to node i; rows below a token that is refused, and at a path that has ended, are
        cleared; rows not reached in time stay.  Arrays are one-dimensional, of one length.  The matcher is as it was.
        `ValueError` for what is no tree or has no rows; then, and where a budget ends or the matcher is called off, no
        row is written.  Budgets are those of each token and each mask.
        """
        cdef int64_t started = ms_clock()
        cdef DraftTree tree = DraftTree(retrieve_next_token, retrieve_next_sibling, draft_tokens)
        cdef int32_t words = self._trie.words
        cdef bint finished
        tree.take_rows(token_bitmask, words)
        owners = self._find_masks(tree, started, time_threshold)
        with nogil:
            finished = tree.write(words)
        del owners              # until here they kept the masks
        return finished

    cdef list _find_masks(self, DraftTree tree, int64_t started, double seconds):
        """The masks of the nodes, depth first, as many as are found in time; NULL behind refused tokens and at ends.

        Returns what keeps them: where parser states have no room, a node is in others than its parent.
        """
        cdef GrammarMatcher probe = self.fork()
        cdef Py_ssize_t count = <Py_ssize_t>tree.parents.size()
        cdef list steps = [None] * count, owners = [None] * count   # by node; None where nothing is behind its token
        cdef int64_t token
        cdef int32_t node, parent
        cdef Clock clock
        start_clock(&clock, 0, self.cancelled(), <PyObject*>DRAFT)
        try:
            for node in tree.order:
                if seconds >= 0 and (ms_clock() - started) * 1e-9 >= seconds:
                    break
                rest(4)
                parent, token = tree.parents[node], tree.tokens[node]
                tree.masks.push_back(NULL)
                if parent >= 0:
                    if steps[parent] is None or not 0 <= token < self._trie.vocab_size:
                        continue
                    probe._masks, probe._last = owners[parent], steps[parent]
                    probe._machine = probe._masks.machine
                    if not probe.accept_token(<int>token):
                        continue
                if not probe._terminated():
                    tree.masks[tree.masks.size() - 1] = probe.whole_mask(True)
                steps[node], owners[node] = probe._last, probe._masks       # a mask may have moved it, too
        finally:
            stop_clock(&clock)
        return owners

    @property
    def stop_token_ids(self):
        """The ids that end the text, ascending; a list of the caller's own."""
        return list(self._stops)

    # -- inspection -----------------------------------------------------------------------------------------------

    @property
    def position(self):
        """Bytes read."""
        return self._last.position

    @property
    def num_steps(self):
        """Tokens and strings taken, the stop token included; as many can be rolled back."""
        return self._last.count

    @property
    def masks(self):
        """The mask cache, and with it the parser states, that this matcher is in (`CompiledGrammar.renew`)."""
        return self._masks

    @property
    def reads_tokens(self):
        """Whether some token may be taken here as a whole, by its id."""
        return bool(self._last.set.tokens)

    @property
    def set_number(self):
        """Number of the interned Earley set: equal numbers under one `masks` are the same parser state."""
        return self._last.set.number

    @property
    def state_key(self):
        """Equal for matchers that allow the same from here on, as long as one of them lives: in the same parser state,
        and where predicates judge texts, behind the same ones."""
        remembered = self._last.remembered
        return id(self._masks), self._last.set.number, self._last if is_inside(remembered) else remembered

    @property
    def text(self):
        """The bytes read."""
        return text_of(self._last, self._trie)

    @property
    def history(self):
        """The steps taken: token ids, and bytes for strings."""
        return history_of(self._last)

    def steps(self):
        """The steps taken as `inspect.classic.Step`, without the stop token that ended the text."""
        return all_shown(self._last, self._trie, self._stops)

    def frontier(self):
        """The Earley items here, textbook style (`inspect.snapshots.Frontier`)."""
        from kernels_core.inspect.look import frontier

        return frontier(self, self._kept_chart())

    cdef object _kept_chart(self):
        """The chart that `frontier` and `operations` read on from call to call."""
        from kernels_core.inspect.classic import Chart

        if self._chart is None:
            self._chart = Chart(self.compiled.state_table)
        return self._chart

    def explain(self, what):
        """Why a token id or a text is accepted or refused here (`inspect.snapshots.Explanation`)."""
        from kernels_core.inspect.explain import explain

        return explain(self, what)

    def token_sets(self):
        """Accepted, rejected and uncertain tokens here (`inspect.snapshots.TokenSets`)."""
        from kernels_core.inspect.look import token_sets

        return token_sets(self)

    def __repr__(self):
        state = "terminated" if self._terminated() else "may end" if self._last.set.completed else "unfinished"
        text = self.text
        end = repr(text if len(text) <= 40 else b"..." + text[-37:])[1:]
        return f"<GrammarMatcher {end} ({self._last.position} bytes, {self._last.count} steps, {state})>"
