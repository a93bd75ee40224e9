# distutils: language = c++
"""`TextInTime`: a text that is to end within a number of tokens (`GrammarMatcher.complete_within`).

Every set knows in how many tokens a text can end (`masks/endings.pyx`).  Near the end, tokens behind which there are
too few are refused, and left out of the mask.  `docs/decisions/0018-complete-within-the-budget.md` says why.

Where predicates judge texts, as of items that differ, ends are tried: the one that the parser says is read with values
compared (`judging.pyx`).  If it repeats an item, other ways are tried byte by byte, first those from which the parser
says the least, and from each the end that it says there.  So it is short, and not always the shortest: to be sure of
that would be to try all values before a longer one.

Read on: `matcher.pyx` (the masks that are cut here).
"""

from heapq import heappop, heappush

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

cimport cython

from kernels_core.clock cimport Clock, rest, stop_clock
from kernels_core.earley.records cimport COUNTS, SetRec, is_live, ms_load
from kernels_core.judging cimport Reading, reading_at
from kernels_core.masks.endings cimport NEVER, Ending, ShortestEnds, Span, span_at
from kernels_core.masks.mask_table cimport MaskRec
from kernels_core.remembered cimport Remembered
from kernels_core.steps cimport Step, text_since
from kernels_core.text cimport Text

from kernels_core.errors import BudgetExceededError, DeadEndError, TooFewTokensError, UnsupportedFeatureError

cdef int64_t ROOM = 24        # tokens more than an end needs: hardly any token makes it longer than that
cdef int64_t ROOM_TO_DIFFER = 8
cdef int MOST_TRIED = 500     # places from which an end is looked for that repeats no item
cdef int64_t MOST_BYTES = 65_536        # of such an end


cdef class TextInTime(Text):
    """A text, and the tokens that it may still have."""

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

    @cython.final
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
                found = endings.text(self._last.set, max_bytes, text)
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
        self._deadline, self._redraws, self._room = self._last.tokens + min(max_tokens, 1 << 62), redraws, ROOM
        if self._machine.marked:        # ends are longer than the parser says, and may come to be by as much again
            self._room = ROOM_TO_DIFFER + 2 * max(0, found - self._least_to_end(self._last.set))

    @property
    def tokens_left(self):
        """Of the tokens of `complete_within`, those that are left; None without such a limit."""
        return None if self._deadline < 0 else self._deadline - self._last.tokens

    @cython.final
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

    @cython.final
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
        if not _is_end(reading_at(self._machine, self._trie, self._last, self._last.set), ahead):
            return False                # the token was taken by its id
        self._last.plan = ahead
        return True

    @cython.final
    cdef int64_t _to_end(self) except -1:
        """Tokens to an end of the text; NEVER: none was found."""
        cdef int64_t found = self._least_to_end(self._last.set)
        cdef ShortestEnds endings
        cdef vector[int32_t] first
        if not self._machine.marked or found == 0 or found >= NEVER:
            return found
        endings = self._masks.find_endings()
        return self._cut(self._plan(endings, MOST_TRIED), endings, 0, first)

    @cython.final
    cdef int64_t _cut(self, bytes text, ShortestEnds endings, int64_t left, vector[int32_t]& first) except -1:
        """`ShortestEnds.cut`; NEVER for None."""
        cdef const char* spelling
        if text is None:
            return NEVER
        spelling = text
        return endings.cut(<const uint8_t*>spelling, len(text), left, first)

    @cython.final
    cdef bytes _plan(self, ShortestEnds endings, int most):
        """A text that ends this one, where items are to differ; None: none was found from `most` places.

        It is the rest of what was found before, if the last step went along that.
        """
        cdef Clock clock
        if not self._is_planned():
            self._start(&clock)
            try:
                self._last.plan = _distinct_end(
                    reading_at(self._machine, self._trie, self._last, self._last.set), endings, most)
            finally:
                stop_clock(&clock)
        return self._last.plan

    @cython.final
    cdef int64_t _least_to_end(self, SetRec* at) except -1:
        """Tokens to an end of a text that is at `at`, if no items are to differ; NEVER: there is none."""
        cdef Ending* known = <Ending*>ms_load(&at.ending)
        cdef ShortestEnds endings
        cdef Clock clock
        if at == self._last.set and self._terminated():
            return 0
        if known != NULL:
            return known.tokens
        endings = self._masks.find_endings()
        self._start(&clock)
        try:
            with nogil:
                return endings.to_end(at)
        finally:
            stop_clock(&clock)

    cdef Text _copy(self):
        cdef TextInTime other = Text._copy(self)
        other._redraws, other._room = self._redraws, self._room
        return other

    # -- masks ---------------------------------------------------------------------------------------------------------

    @cython.final
    cdef bint _is_far(self) noexcept:
        """Whether so many tokens are left that hardly any is refused: the caller draws again where one is."""
        cdef Ending* known = <Ending*>ms_load(&self._last.set.ending)
        return (self._redraws and known != NULL and known.tokens + self._room < self._deadline - self._last.tokens
                and self._refused_at is not self._last)

    @cython.final
    cdef MaskRec* _known_in_time(self, MaskRec* mask) noexcept:
        """`mask` without the tokens behind which the text cannot end in time, if that is known; else NULL."""
        cdef Ending* known = <Ending*>ms_load(&self._last.set.ending)
        cdef int64_t left = self._deadline - self._last.tokens - 1
        cdef Span* span
        if self._is_far():
            return mask
        if known == NULL or self._machine.marked:
            return NULL                     # or it depends on more than the set
        span = span_at(known, left)
        return span.mask if span != NULL else NULL

    @cython.final
    cdef MaskRec* _in_time(self, MaskRec* mask) except NULL:
        """`mask` without the tokens behind which the text cannot end in time."""
        cdef MaskRec* known = self._known_in_time(mask)
        cdef ShortestEnds endings
        cdef int64_t left = self._deadline - self._last.tokens - 1
        cdef vector[int32_t] ids
        cdef vector[int64_t] lengths
        cdef TextInTime probe
        cdef Clock clock
        if known != NULL:
            return known
        endings = self._masks.find_endings()
        if self._machine.marked:
            return self._in_time_distinct(mask, endings)
        self._to_end()
        if self._last.set.tokens:
            probe = self._copy()
            probe._deadline = -1
            for token in self._masks.ids_of(mask):
                ids.push_back(token)
                lengths.push_back(probe._behind(token))
        self._start(&clock)
        try:
            with nogil:
                return endings.filtered(self._last.set, mask, left, ids, lengths)
        finally:
            stop_clock(&clock)

    @cython.final
    cdef MaskRec* _in_time_distinct(self, MaskRec* mask, ShortestEnds endings) except NULL:
        """`_in_time` where items are to differ: once tokens become scarce, those that bring the end nearer are tried.

        What leaves `_room` tokens more than it needs is allowed by what the parser says.  It may need a little more
        than that where the end of an item is left out, as it would repeat one, and the item goes on.
        """
        cdef int64_t left = self._deadline - self._last.tokens - 1
        cdef TextInTime probe
        cdef MaskRec* whole = <MaskRec*>ms_load(&self._last.set.mask)
        cdef MaskRec* sure
        cdef MaskRec* possible
        cdef vector[int32_t] allowed, planned, ids
        cdef vector[int64_t] lengths
        cdef object certain = (), tried
        if self._asked_in_time is self._last:
            return self._answer_in_time
        if whole != NULL and not self._last.set.tokens:
            with nogil:
                sure = endings.filtered(self._last.set, whole, left - self._room, ids, lengths)
                possible = endings.filtered(self._last.set, whole, endings.to_end(self._last.set) - 1, ids, lengths)
            if sure == whole:
                return mask
            certain = set(self._masks.ids_of(mask)).intersection(self._masks.ids_of(sure))
            tried = set(self._masks.ids_of(mask)).intersection(self._masks.ids_of(possible)).difference(certain)
        else:
            tried = self._masks.ids_of(mask)
        self._cut(self._plan(endings, MOST_TRIED), endings, left, planned)
        tried = set(planned).intersection(self._masks.ids_of(mask)).union(tried).difference(certain)
        probe = self._copy()
        probe._deadline = -1
        for token in certain:
            allowed.push_back(token)
        for token in tried:
            if probe._is_in_time_behind(token, left):
                allowed.push_back(token)
        with nogil:
            mask = endings.only(mask, allowed)
        self._asked_in_time, self._answer_in_time = self._last, mask
        return mask

    @cython.final
    cdef bint _is_in_time_behind(self, int token, int64_t left) except -1:
        """Whether `token` may come next and `left` tokens are enough behind it; the matcher stays where it is."""
        cdef Step before = self._last
        try:
            return self._accept_token(token) and self._is_in_time(left)
        finally:
            self._last = before

    @cython.final
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

    @cython.final
    cdef bint _takes(self, int token) except -1:
        """Whether the text can end in time behind `token`, which may come next."""
        cdef TextInTime probe
        if self._deadline < 0:
            return True
        probe = self._copy()
        probe._deadline = -1
        return probe._behind(token) < self._deadline - self._last.tokens


# -- ends where items differ -------------------------------------------------------------------------------------------

cdef class _Place:
    """Where a reader has come to."""

    cdef SetRec* at
    cdef Remembered remembered
    cdef bytes path


cdef bytes _distinct_end(Reading reading, ShortestEnds endings, int most):
    """Bytes behind which the text may end, from where `reading` is; None: none were found from `most` places.  The
    caller's clock runs."""
    cdef _Place place = _Place.__new__(_Place), child
    cdef list waiting = []
    cdef bytes end
    cdef int byte, tried = 0, number = 0
    cdef int64_t left
    cdef SetRec* target
    cdef object order = [(endings.rank[byte], byte) for byte in range(256) if endings.rank[byte] >= 0]
    order.sort()
    place.at, place.remembered, place.path = reading.at, reading.remembered, bytes(reading.more)
    cdef Py_ssize_t before = len(place.path)
    waiting.append((0, 0, 0, place))
    while waiting and tried < most:
        place = heappop(waiting)[3]
        rest(100)
        tried += 1
        end = _said(reading, endings, place)
        if end is not None:
            return place.path[before:] + end
        if tried == most:
            return None
        for _, byte in order:
            if not is_live(place.at, <uint8_t>byte):
                continue
            _go_to(reading, place)
            if not reading.read(<uint8_t>byte):
                continue
            target = reading.at
            with nogil:
                left = endings.to_end(target)
            if left >= NEVER:
                continue
            number += 1
            child = _Place.__new__(_Place)
            child.at, child.remembered, child.path = reading.at, reading.remembered, bytes(reading.more)
            heappush(waiting, (left, len(child.path), number, child))
    return None


cdef int _go_to(Reading reading, _Place place) except -1:
    reading.at, reading.remembered = place.at, place.remembered
    reading.more[:] = place.path
    return 0


cdef bytes _said(Reading reading, ShortestEnds endings, _Place place):
    """The end that the parser says behind `place`, if no item is repeated by it; else None."""
    cdef vector[uint8_t] text
    cdef int64_t found
    cdef bytes said
    with nogil:
        found = endings.text(place.at, MOST_BYTES, text)
    if found < 0:
        return None
    _go_to(reading, place)
    said = <bytes>(<char*>text.data())[:text.size()] if text.size() else b""
    return said if _is_end(reading, said) else None


cdef bint _is_end(Reading reading, bytes text) except -1:
    """Whether the text may end behind `text`; the caller's clock runs."""
    cdef uint8_t byte
    for byte in text:
        if not reading.read(byte):
            return False
    return reading.at.completed
