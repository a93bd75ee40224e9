# distutils: language = c++
"""`Text`: a text under a compiled grammar, as it is read token by token.

It is a pointer to its last step; a step points to the set reached and to the step before.  So rollback and fork are a
pointer each, whatever the length of the text, and forks share their past.

Read on: `steps.pyx`; `text_in_time.pyx` (a text that is to end within a number of tokens), `matcher.pyx` (its masks).
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

cimport cython

from kernels_core.clock cimport Clock, start_clock, stop_clock
from kernels_core.earley.machine cimport Passage
from kernels_core.earley.records cimport COUNTS, MARKED, SPENT, SetRec, is_live, known_step, ms_clock
from kernels_core.earley.token_limits cimport crossed
from kernels_core.judging cimport Reading, reading_at
from kernels_core.masks.cache cimport MaskCache
from kernels_core.remembered cimport Remembered
from kernels_core.steps cimport Step, all_shown, history_of, is_among, root, shown, text_since

from kernels_core.compiled import CompiledGrammar
from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError

cdef object _BLANK = object()


cdef bytes _bytes_of(text):
    """A copy of what holds bytes; `bytes(5)` would be five of them."""
    return bytes(text if isinstance(text, bytes) else memoryview(text))


cdef class Text:
    """What a matcher has read.  `GrammarMatcher` says what its arguments mean."""

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

    @cython.final
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
        cdef bytes spelling = text.encode() if isinstance(text, str) else _bytes_of(text)
        try:
            return self._accept_string(spelling)
        except BudgetExceededError as error:
            self._renew(error)
        return self._accept_string(spelling)

    @cython.final
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
        return self._copy()

    cdef Text _copy(self):
        """`fork`, for those who go on from here by themselves."""
        cdef type kind = type(self)
        cdef Text other = kind.__new__(kind, _BLANK)
        other.compiled, other._masks, other._machine, other._trie = self.compiled, self._masks, self._machine, self._trie
        other._last, other._stops, other._own_stops = self._last, self._stops, self._own_stops
        other.terminate_without_stop_token, other.on_dead_end = self.terminate_without_stop_token, self.on_dead_end
        other.cancel_token, other._deadline = self.cancel_token, self._deadline
        return other

    @cython.final
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

    @cython.final
    cdef bint _move(self, MaskCache masks, size_t limit) except -1:
        """Read the text again in `masks` and stay there; False, and nothing changed, if that needs over `limit` bytes."""
        cdef Text probe
        cdef Step step = self._last
        cdef list steps = []
        if masks is None:
            return False
        while step.parent is not None:
            steps.append(step)
            step = step.parent
        probe = self._copy()
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

    @cython.final
    cdef SetRec* _crossed(self, SetRec* source, bint begins) except NULL:
        """Where a token that begins at `source` is read, or `source` at the end of a step (`earley/token_limits.pyx`)."""
        cdef Clock clock
        self._start(&clock)
        try:
            with nogil:
                return crossed(self._machine, source, begins)
        finally:
            stop_clock(&clock)

    @cython.final
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
        self._machine.step_hits += size - misses
        return at

    @cython.final
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
        self._machine.step_hits += size
        return reading.at

    @cython.final
    cdef Reading _reading(self):
        """A reader of the next token's bytes."""
        cdef SetRec* here = self._last.set
        return reading_at(self._machine, self._trie, self._last,
                          self._crossed(here, True) if here.limits & COUNTS else here)

    @cython.final
    cdef void _start(self, Clock* clock) noexcept:
        """Let `clock` run for what one step, or one mask, may take."""
        start_clock(clock, self._masks.max_fill_ms, self.cancelled(), <PyObject*>self._machine.where)

    @cython.final
    cdef const int* cancelled(self) noexcept:
        """What becomes 1 when the cancel token is used; NULL without one."""
        return <const int*>NULL if self.cancel_token is None else &self.cancel_token.flag

    @cython.final
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
            if not target.limits & MARKED:
                reading.remembered = reading.remembered.outside()
        return target

    @cython.final
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

    @cython.final
    cdef bint _push_in_time(self, SetRec* target, int token, bytes spelling, int length, bint stop,
                            Remembered remembered) except -1:
        """`_push`, unless the text could not end in time then (`complete_within`); whether it was done."""
        cdef Step before = self._last
        cdef bint kept = False
        self._push(target, token, spelling, length, stop, remembered)
        try:
            kept = self._deadline < 0 or self._is_in_time(self._deadline - self._last.tokens)
        finally:
            if not kept:
                self._last = before
        if not kept:
            self._refused_at = before
        return kept

    cdef bint _is_in_time(self, int64_t left) except -1:
        """Whether `left` tokens are enough for an end; `TextInTime` knows."""
        return True

    @cython.final
    cdef bint _names(self, int token) except -1:
        """Whether the grammar names `token` here, by id."""
        cdef SetRec* source = self._last.set
        cdef bint found = False
        if source.tokens:
            with nogil:
                found = self._machine.names(source, token)
        return found

    @cython.final
    cdef bint _traced_step(self, int token_id, text) except -1:
        """`accept_token`, or `accept_string` if there is a `text`, with an event; refusals make none."""
        cdef object tracing = self._tracing
        cdef MaskCache masks = self._masks
        cdef Step before = self._last
        cdef int64_t made = self._machine.step_misses, started = ms_clock(), spent
        cdef bint taken
        self._tracing = None
        try:
            taken = self.accept_token(token_id) if text is None else self.accept_string(text)
            spent = ms_clock() - started
            if taken and self._last is not before:
                tracing.step(shown(self._last, self._trie, self._stops), spent, self._machine.step_misses - made)
        except BaseException:
            self._masks, self._machine, self._last = masks, masks.machine, before
            raise
        finally:
            self._tracing = tracing
        return taken

    def set_trace(self, tracing):
        """Tell this `inspect.trace.Tracing` of events from now on; None stops.  Returns what was set before."""
        before, self._tracing = self._tracing, tracing
        return before

    # -- what was read -------------------------------------------------------------------------------------------------

    @cython.final
    cdef bint _terminated(self) noexcept:
        return self._last.stop or (self.terminate_without_stop_token and self._last.set.completed)

    def is_completed(self):
        """Whether the text may end here."""
        return bool(self._last.set.completed)

    def is_terminated(self):
        """Whether the text has ended: a stop token was taken (or it may end, with `terminate_without_stop_token`)."""
        return self._terminated()

    @cython.final
    cdef str _place(self):
        """Where the text is, for errors: bytes read and rules being read."""
        tables, items = self._machine.tables, self._machine.set_items(self._last.set.number)
        rules = {tables.seen(state)[0] for state, _, _ in items}
        waiting = sorted({tables.lowering.rules[rule].name for rule in rules if rule >= 0})
        if not waiting:
            return f"after {self._last.position} bytes: the text is complete and there is no stop token"
        return f"after {self._last.position} bytes, inside " + ", ".join(repr(name) for name in waiting[:5])

    @property
    def stop_token_ids(self):
        """The ids that end the text, ascending; a list of the caller's own."""
        return list(self._stops)

    @property
    def position(self):
        """Bytes read."""
        return self._last.position

    @property
    def num_steps(self):
        """Tokens and strings taken, the stop token included; as many can be rolled back."""
        return self._last.count

    @property
    def text(self):
        """The bytes read."""
        return text_since(self._last, self._trie, 0)

    @property
    def history(self):
        """The steps taken: token ids, and bytes for strings."""
        return history_of(self._last)

    def steps(self):
        """The steps taken as `looking.Step`, without the stop token that ended the text."""
        return all_shown(self._last, self._trie, self._stops)
