# distutils: language = c++
"""Read on where items are to differ (`distinct` rules), and say which tokens would repeat an item.

The parser says which items end with a byte, and here their values are compared with those before them.  If one is
equal, the byte leads to where that item does not end: nowhere, unless it may go on or the text has another reading.

For a mask, the parser's tokens in which an item may end are known of the set (`masks/item_ends.pyx`).  Most end one
item that began before them.  What of it was read says which values it may yet have: of a string, those of the items
that begin so.  So hardly any token has to be looked at, and these are compared by the value that they complete.

Read on: `matcher.pyx` (asks), `remembered.pyx` (what is remembered), `json_values.pyx` (values).
"""

from libcpp.vector cimport vector

from kernels_core.clock cimport rest
from kernels_core.earley.records cimport MARKED, is_live, known_step
from kernels_core.json_values cimport JsonReader, value_of
from kernels_core.masks.item_ends cimport Ends
from kernels_core.remembered cimport nothing_yet
from kernels_core.steps cimport text_since

from kernels_core.errors import UnsupportedFeatureError

__all__ = []

cdef vector[int32_t] NOTHING


cdef Reading reading_at(Machine machine, TokenTrie trie, Step step, SetRec* source):
    """A reader behind `step`, whose next bytes are read at `source`."""
    cdef Reading reading = Reading.__new__(Reading)
    reading.machine, reading.trie, reading.step, reading.source = machine, trie, step, source
    reading.more, reading.texts = bytearray(), {}
    reading.rewind()
    return reading


cdef class Reading:
    """Reads bytes behind a step.  The caller's clock runs."""

    cdef void rewind(self) noexcept:
        """Back behind the step."""
        self.at, self.remembered = self.source, self.step.remembered
        self.more.clear()

    cdef bint read(self, uint8_t byte) except -1:
        """Take a byte; False if it is refused, and then nothing more can be read."""
        cdef SetRec* target
        cdef SetRec* source = self.at
        cdef Machine machine = self.machine
        cdef Passage passed
        if not is_live(source, byte):
            return False
        if machine.marked:
            self.more.append(byte)
        target = known_step(source, byte)
        if target == NULL:
            with nogil:
                target = machine.advance_locked(source, byte)
        if (source.limits | target.limits) & MARKED:
            self._pass(byte, NOTHING, &passed)
            if passed.marks != NULL:
                target = self._compare(byte, passed)
        if not target.limits & MARKED:
            self.remembered = None
        self.at = target
        return target != machine.dead

    cdef bint read_token(self, int32_t token) except -1:
        """Whether the bytes of a token are taken, from behind the step on."""
        cdef int32_t i
        self.rewind()
        for i in range(self.trie.spelling_first[token], self.trie.spelling_first[token + 1]):
            if not self.read(self.trie.spelling[i]):
                return False
        return True

    cdef int take_whole(self, const Marks* marks) except -1:
        """Take a token by its id, which is no text."""
        cdef int32_t i
        if marks == NULL:
            return 0
        for i in range(marks.ended_count):
            if marks.ended[i].scope != -1:
                raise UnsupportedFeatureError("an item that is to differ ends in a token that is named by its id")
        self.remembered = nothing_yet() if self.remembered is None else self.remembered.copy()
        self.remembered.begin(marks, self.step.position + len(self.more))
        return 0

    cdef SetRec* _compare(self, uint8_t byte, Passage passed) except NULL:
        """Where a byte leads with which items begin or end."""
        cdef vector[int32_t] kept_open
        cdef Remembered remembered = nothing_yet() if self.remembered is None else self.remembered.copy()
        cdef Seen seen
        cdef bytes value
        cdef int32_t i, scope
        if passed.marks.ambiguous:
            raise UnsupportedFeatureError(
                f"after {self.step.position + len(self.more)} bytes it is ambiguous where an item that is to differ "
                f"begins or ends; separate items by bytes that are in none of them")
        for i in range(passed.marks.ended_count):
            scope = passed.marks.ended[i].scope
            if scope < 0:
                continue
            value, seen = value_of(self._text(passed.marks.ended[i].frame)), remembered.seen[scope]
            if value is not None and seen.has(value):
                kept_open.push_back(passed.marks.ended[i].frame)
                value = None
            remembered.seen[scope] = seen.ending(value)
        if kept_open.size():
            self._pass(byte, kept_open, &passed)
        if passed.marks != NULL:
            remembered.begin(passed.marks, self.step.position + len(self.more))
        self.remembered = remembered
        return passed.target

    cdef int _pass(self, uint8_t byte, const vector[int32_t]& kept_open, Passage* found) except -1:
        """`Machine.passage` from where the reader is."""
        with nogil:
            self.machine.lock.lock()
            try:
                self.machine.passage(self.at, byte, kept_open, found)
            finally:
                self.machine.lock.unlock()
        return 0

    cdef bytes _text(self, int32_t frame):
        """What was read of the item of `frame`."""
        cdef Py_ssize_t begun = self.remembered.begun[frame][1]
        if begun >= self.step.position:
            return bytes(self.more[begun - self.step.position:])
        before = self.texts.get(frame)
        if before is None:
            before = self.texts[frame] = text_since(self.step, self.trie, begun)
        return before + self.more

    # -- masks ----------------------------------------------------------------------------------------------------

    cdef list repeated(self, ItemEnds item_ends):
        """The tokens that the parser takes here and that would repeat an item."""
        cdef Ends ends = item_ends.at(self.source)
        cdef list found = []
        if ends is None:
            return found
        for frame, endings in ends.by_frame.items():
            found += self._ending(frame, endings)
        for token in ends.others:
            rest(10)
            if not self.read_token(token):
                found.append(token)
        return found

    cdef list _ending(self, int32_t frame, Endings endings):
        """Of tokens that end the item of `frame`, those that make it equal to one before it."""
        cdef JsonReader reader, longer
        cdef Seen seen
        cdef bytes so_far, value, text
        cdef list found = []
        self.rewind()
        seen = self.remembered.seen[self.remembered.begun[frame][0]]
        if not seen.count:
            return found
        reader = JsonReader.__new__(JsonReader)
        reader.feed(self._text(frame))
        texts = endings.tokens
        so_far = reader.string_so_far()
        if not reader.kind():
            by_value = endings.by_value()
            texts = [text for value in by_value if value is not None and seen.has(value) for text in by_value[value]]
        elif so_far is not None:
            # As it is written without a backslash, the rest of a string is its characters.
            texts = [value[len(so_far):] + b'"' for value in seen.values if value.startswith(so_far)] + endings.escaped
        elif not any([value[0] == reader.kind() for value in seen.values]):
            return found
        for text in texts:
            rest(10)
            if text not in endings.tokens:
                continue
            longer = reader.copy()
            longer.feed(text)
            value = longer.finished()
            if value is not None and seen.has(value):
                found += endings.tokens[text]
        return found
