# distutils: language = c++
"""`GrammarMatcher`: one text being generated under a compiled grammar.

It is a text (`text.pyx`) that may have to end in time (`text_in_time.pyx`); here are its masks, what comes next, and
what it shows.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

cimport cython

from kernels_core.clock cimport Clock, rest, start_clock, stop_clock
from kernels_core.drafts cimport DraftTree
from kernels_core.earley.records cimport COUNTS, MARKED, SetRec, is_live, ms_clock, ms_load, ms_store
from kernels_core.judging cimport Reading, reading_at
from kernels_core.masks.bits cimport lowest
from kernels_core.masks.cache cimport ms_count
from kernels_core.masks.item_ends cimport ItemEnds
from kernels_core.masks.mask_table cimport MaskRec, write_mask
from kernels_core.masks.rows cimport BitmaskRows, needs_masking, open_rows, row_at
from kernels_core.remembered cimport Judges, is_inside, judges_of
from kernels_core.steps cimport Step
from kernels_core.text_in_time cimport TextInTime

from kernels_core.errors import (
    BudgetExceededError, DeadEndError, MatcherTerminatedError, OperationCancelledError,
)
from kernels_core.looking import ask

cdef str DRAFT = "the masks of a draft tree"


@cython.final
cdef class GrammarMatcher(TextInTime):
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

    # -- asking ---------------------------------------------------------------------------------------------------

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

    cpdef bint is_prepared(self) noexcept:
        """Whether there is nothing to prepare: the mask here is known, or never remembered, or the text has ended."""
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
            raise DeadEndError(f"no token of the vocabulary can go on {self._place()}")
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

    cdef bint _is_found(self) noexcept:
        """Whether a pointer leads to the mask here, or to what predicates are asked about; else some of it is made."""
        cdef MaskRec* mask = <MaskRec*>ms_load(&self._last.set.mask)
        return mask != NULL and (self._deadline < 0 or self._asked_in_time is self._last
                                 or self._known_in_time(mask) != NULL)

    cdef MaskRec* _traced_mask(self) except NULL:
        """`_mask`, with an event of how it was found; counters of other threads' fills may be in it."""
        cdef MaskRec* mask
        cdef object tracing = self._tracing
        cdef int64_t made = self._masks.state_misses, pool = self._masks.pool_hits, partial = self._masks.partial_hits
        cdef int64_t hits = self._masks.state_hits
        cdef bint known = self._is_found()
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

    def trace(self):
        """`with matcher.trace() as events:` lists what happens meanwhile (`inspect.trace.Events`).

        A `StepEvent` for every token and string taken, with the parser's operations at each byte, a `FillEvent` for every
        mask asked for.  Takes far longer than the engine alone, and nothing while nobody traces.
        """
        return ask("trace.Tracing", self)

    def operations(self):
        """What the textbook parser did in the last step (`inspect.trace.Operations`)."""
        return ask("trace.operations", self)

    def parser_events(self):
        """The parser's operations (`inspect.trace.ParserEvent`) for the whole text read, in order."""
        return ask("trace.parser_events", self)

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
        """Token ids that must come next, a stop token too: as long as the mask allows one only, and the text may not end
        without it."""
        cdef GrammarMatcher probe = self._copy()
        cdef list forced = []
        while (len(forced) < max_tokens and not probe._terminated() and (self._stops.size() or not probe.is_completed())
                and probe.whole_mask(True).population == 1):
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
        cdef GrammarMatcher probe = self._copy()
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

    # -- inspection -----------------------------------------------------------------------------------------------

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

    def frontier(self):
        """The Earley items here, textbook style (`inspect.snapshots.Frontier`)."""
        return ask("look.frontier", self)

    def explain(self, what):
        """Why a token id or a text is accepted or refused here (`inspect.snapshots.Explanation`)."""
        return ask("look.explain", self, what)

    def token_sets(self):
        """Accepted, rejected and uncertain tokens here (`inspect.snapshots.TokenSets`)."""
        return ask("look.token_sets", self)

    def __repr__(self):
        state = "terminated" if self._terminated() else "may end" if self._last.set.completed else "unfinished"
        text = self.text
        end = repr(text if len(text) <= 40 else b"..." + text[-37:])[1:]
        return f"<GrammarMatcher {end} ({self._last.position} bytes, {self._last.count} steps, {state})>"


cdef bytes forced_text(Reading reading, int most):
    """At most `most` bytes that must come next: as long as `reading` takes one byte only, and the text may not end.

    None where a whole token may be taken by its id.  The caller's clock runs.
    """
    cdef vector[char] text
    cdef int byte
    while <int>text.size() < most and not reading.at.completed and not reading.at.tokens:
        byte = _only_byte(reading.at)
        if byte < 0 or not reading.read(<unsigned char>byte):
            break
        text.push_back(<char>byte)
    return text.data()[:text.size()] if text.size() else b""


cdef int _only_byte(SetRec* at) noexcept nogil:
    """The byte that may follow; -1 if none or several may."""
    cdef int w, byte = -1
    for w in range(4):
        if at.live[w]:
            if byte >= 0 or at.live[w] & (at.live[w] - 1):
                return -1
            byte = 64 * w + lowest(at.live[w])
    return byte
