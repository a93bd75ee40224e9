# distutils: language = c++
"""Read on where predicates judge texts of rules, and say which tokens they would refuse.

The parser says which texts end with a byte, and here their predicates are asked.  If one refuses, the byte leads to
where that text does not end: nowhere, unless it may go on or there is another reading.

For a mask, the parser's tokens in which a judged text may end are known of the set (`masks/item_ends.pyx`).  Most end
one text that began before them, and what it is then decides.

Read on: `text.pyx` (asks), `remembered.pyx` (what is remembered), `predicates.py` (what a predicate is).
"""

from libcpp.vector cimport vector

from kernels_core.clock cimport rest
from kernels_core.different_items cimport DIFFERENT, Seen
from kernels_core.earley.marks cimport find_watched, goes_on_without
from kernels_core.earley.records cimport MARKED, Pair, is_live, known_step
from kernels_core.remembered cimport are_equal, judges_of, with_memory
from kernels_core.steps cimport text_since

from kernels_core.errors import PredicateError, UnsupportedFeatureError

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
        self.refusing = None
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
                target = self._judge(byte, passed)
            if not target.limits & MARKED and target != machine.dead:
                self.remembered = self.remembered.outside()
            if target.limits & MARKED and judges_of(machine).watches and not self._may_go_on(target):
                target = machine.dead
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

    cdef int take_whole(self, int32_t token, const Marks* marks) except -1:
        """Take a token by its id; what it spells belongs to texts around it."""
        cdef Judged judged
        cdef dict results = {}
        cdef int32_t i
        cdef Py_ssize_t position = (
            self.step.position + self.trie.spelling_first[token + 1] - self.trie.spelling_first[token])
        if marks == NULL:
            return 0
        for i in range(marks.ended_count):
            judged = judges_of(self.machine).of(self.machine, marks.ended[i].frame)
            if judged.predicate is not None:
                raise UnsupportedFeatureError(
                    f"a text of the rule {judged.name!r}, which is judged, ends in a token that is named by its id")
        self._refused(marks, results)
        if marks.again:
            judges_of(self.machine).refuse(position)
        self.remembered = self.remembered.after(self.machine, marks, results, position)
        return 0

    cdef bint _may_go_on(self, SetRec* target) except -1:
        """Whether some reading is in no text that its predicate gives up by its beginning."""
        cdef vector[int32_t] frames, hopeless
        cdef Py_ssize_t position = self.step.position + len(self.more)
        cdef Judged judged
        cdef int32_t frame
        cdef bint found
        with nogil:
            self.machine.lock.lock()
            try:
                find_watched(self.machine, target, frames)
            finally:
                self.machine.lock.unlock()
        for frame in frames:
            begun = self.remembered.begun[frame]
            if begun[0] == position:
                continue
            judged = judges_of(self.machine).of(self.machine, frame)
            text = self._text(frame)
            try:
                found = judged.predicate.begins(begun[1][judged.number], judged.name, text)
            except Exception as error:
                raise PredicateError(judged.name, text, f"{type(error).__name__}: {error}") from error
            if not found:
                self.refusing = judged.name
                hopeless.push_back(frame)
        if hopeless.empty():
            return True
        with nogil:
            self.machine.lock.lock()
            try:
                return goes_on_without(self.machine, target, hopeless)
            finally:
                self.machine.lock.unlock()

    cdef SetRec* _judge(self, uint8_t byte, Passage passed) except NULL:
        """Where a byte leads with which texts end or begin."""
        cdef vector[int32_t] kept_open
        cdef dict results = {}
        cdef Py_ssize_t position = self.step.position + len(self.more)
        cdef int32_t refused = -1
        while passed.marks != NULL:
            refused = self._refused(passed.marks, results)
            if refused < 0:
                if passed.target != self.machine.dead:
                    if passed.marks.again:
                        judges_of(self.machine).refuse(position)
                    self.remembered = self.remembered.after(self.machine, passed.marks, results, position)
                break
            kept_open.push_back(refused)
            self._pass(byte, kept_open, &passed)
        return passed.target

    cdef int32_t _refused(self, const Marks* marks, dict results) except -2:
        """Judge the texts that end, and put into `results` what is remembered behind them, by frame; stops at a frame
        whose text is refused, and returns that, else -1."""
        cdef Py_ssize_t position = self.step.position + len(self.more)
        cdef Pair pair
        cdef tuple memories, behind
        cdef int32_t i, frame = -1
        if marks.endless:
            judges_of(self.machine).refuse(position)
        for i in range(marks.ended_count):
            pair = marks.ended[i]
            memories = self.remembered.behind(self.machine, &pair, results)
            if pair.frame == frame:
                if not are_equal(self.machine, frame, before, memories):
                    judges_of(self.machine).refuse(position)
                continue
            frame, before = pair.frame, memories
            if frame not in results:
                behind = self._behind(frame, memories)
                if behind is None:
                    return frame
                results[frame] = behind
        return -1

    cdef tuple _behind(self, int32_t frame, tuple memories):
        """What is remembered behind the text of `frame`; None: it is refused."""
        cdef Judged judged = judges_of(self.machine).of(self.machine, frame)
        if judged.predicate is None:
            return memories
        memory = memories[judged.number]
        if judged.number in judged.scopes:          # it is judged by what is remembered around it
            before = [around[judged.number] for around in self.remembered.begun[frame][2].values()]
            memory = before[0]
            if not all([are_equal(self.machine, frame, memory, other) for other in before]):
                judges_of(self.machine).refuse(self.step.position + len(self.more))
        if memory is None:
            return with_memory(memories, judged.number, None)
        memory = self._ask(judged, memory, self._text(frame))
        if memory is None:
            self.refusing = judged.name
            return None
        return with_memory(memories, judged.number, memory)

    cdef object _ask(self, Judged judged, memory, bytes text):
        """What a predicate remembers behind `text`; None: it refuses it."""
        if judged.predicate is DIFFERENT:
            return DIFFERENT.judge(memory, judged.name, text)
        try:
            found = judged.predicate.judge(memory, judged.name, text)
            if found is True or found is False:
                raise TypeError(f"judge returned {found}: it returns what is remembered from now on, or None")
            return found
        except Exception as error:
            raise PredicateError(judged.name, text, f"{type(error).__name__}: {error}") from error

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
        """What was read of the text of `frame`."""
        cdef Py_ssize_t begun = self.remembered.begun[frame][0]
        if begun >= self.step.position:
            return bytes(self.more[begun - self.step.position:])
        before = self.texts.get(frame)
        if before is None:
            before = self.texts[frame] = text_since(self.step, self.trie, begun)
        return before + self.more

    # -- masks ----------------------------------------------------------------------------------------------------

    cdef int find_refused(self, ItemEnds item_ends, vector[int32_t]& refused) except -1:
        """Add the tokens that the parser takes here and a predicate refuses."""
        cdef Ends ends = item_ends.at(self.source)
        if ends is None:
            return 0
        for frame, endings in ends.by_frame.items():
            for token in self._ending(frame, endings):
                refused.push_back(token)
        return self._read_all(ends, refused)

    cdef int _read_all(self, Ends ends, vector[int32_t]& refused) except -1:
        """Read the tokens that are read byte by byte; what several begin with is read once."""
        cdef vector[SetRec*] at             # behind so many bytes of the last token
        cdef list remembered = []
        cdef int32_t token, depth, size, first, failed = 0      # the first byte that was refused; 0: none
        cdef size_t n
        for n in range(ends.others.size()):
            if failed and ends.shared[n] >= failed:
                refused.push_back(ends.others[n])
                continue
            token = ends.others[n]
            first = self.trie.spelling_first[token]
            size = self.trie.spelling_first[token + 1] - first
            self.rewind()
            depth = min(ends.shared[n], <int32_t>at.size())
            if depth:
                self.at, self.remembered = at[depth - 1], remembered[depth - 1]
                self.more.extend((<const char*>self.trie.spelling.data())[first:first + depth])
            at.resize(depth)
            del remembered[depth:]
            failed = 0
            while depth < size:
                rest(2)
                depth += 1
                if not self.read(self.trie.spelling[first + depth - 1]):
                    failed = depth
                    refused.push_back(token)
                    break
                at.push_back(self.at)
                remembered.append(self.remembered)
        return 0

    cdef list _ending(self, int32_t frame, Endings endings):
        """Of tokens that end the text of `frame`, those with which it is refused."""
        cdef Judged judged = judges_of(self.machine).of(self.machine, frame)
        cdef bytes so_far, text
        cdef list texts
        self.rewind()
        # All readings are in something inside of it that is marked, or what decides lies around it.
        if frame not in self.remembered.at or judged.number in judged.scopes:
            return [token for tokens in endings.tokens.values() for token in tokens if not self.read_token(token)]
        memory, so_far = self.remembered.at[frame][judged.number], self._text(frame)
        if memory is None:
            return []
        if judged.predicate is DIFFERENT:
            texts = DIFFERENT.refused(<Seen>memory, so_far, endings)
        else:
            texts = []
            for text in endings.tokens:
                rest(10)
                if self._ask(judged, memory, so_far + text) is None:
                    texts.append(text)
        return [token for text in texts for token in endings.tokens[text]]
