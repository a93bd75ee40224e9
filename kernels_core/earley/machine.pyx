# distutils: language = c++
"""The Earley parser as a machine of interned sets.

An *item* is (automaton state, frame, counter): of iterations or, where a rule bounds its texts
(`automata/lengths.pxd`), of characters; where its members come in any order (`automata/members.pxd`), the number of a
register (`registers.pyx`).  A *frame* is the return context of a predicted rule: the items that wait for it, which is
Earley's origin made canonical.  A *set* is the closure of items.  Sets, frames and the kernels of sets are
interned (`interning.pyx`): equal parser states are one pointer, and parsing is a walk in a deterministic machine, built
as it is used.

Closing a kernel (`close`) is Earley's complete and predict:

1. *complete*: an accepting item adds what its frame returns to; in a counted rule it also ends an iteration;
2. *predict*: every call of a rule in the set contributes to one new frame for that rule;
3. *resolve*: new frames may refer to each other, so they are interned a strongly connected component at a time
   (`left_recursion.pyx`);
4. only items that can scan a byte or a token stay in the set: everything else has done its work.

Three rules keep this small.  A call that returns to a *tail* (an accepting state without edges) passes on its caller's
returns instead (Leo 1991), so right recursion does not grow, unless the caller counts tokens (`token_limits.pyx`) or
has a mark (`marks.pyx`).
Where a rule may end that was called in last place but for something optional, what its frame brings about by ending is
remembered on the frame (`_end`); and items that others cover are dropped, of sets and of frames (`coverage.pyx`).  So an
ambiguous text costs the same at each byte, however many operands or open rules come before.
Rules that can be empty were given ε-edges at their calls by `automata.lower`, so no rule predicted here completes here.

ACCEPT and ESCAPE are pseudo-states without edges.  Frame ROOT returns to ACCEPT: the text may end.  Frame BOTTOM is
an unknown caller and returns to ESCAPE; `masks.token_sets` runs rules on it to learn what does not depend on callers.

Threads: what is known is read without a lock (`known_step`); what is new is made under `Machine.lock`, without the
GIL, and published with release stores.

Read on: `../masks/token_sets.pyx`, `../matcher.pyx`; `../inspect/classic.py` shows the textbook sets.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy
from libcpp.mutex cimport unique_lock

from kernels_core.automata.tables cimport (
    ACCEPTING, CALLS, COUNTED, SCANNABLE, SPECIAL, TAIL, TOKENS, ByteEdge, Tables,
)
from kernels_core.clock cimport breathe, start_clock, stop_clock
from kernels_core.earley.coverage cimport drop_covered
from kernels_core.earley.distinct cimport add_new, forget
from kernels_core.earley.interning cimport remember
from kernels_core.earley.items cimport hash_words, normalise
from kernels_core.earley.left_recursion cimport resolve_frames
from kernels_core.earley.marks cimport note_marks
from kernels_core.earley.records cimport (
    C_ACCEPT, C_BOTTOM, C_ESCAPE, C_ROOT, FrameRec, KernelRec, is_live, known_step, ms_store,
)
from kernels_core.earley.slots cimport Slot, after, put

cdef size_t MOST_ENDED = 256   # items that are remembered of what ending a rule brings about


cdef class Machine(InternedStates):
    """All parser states of one compiled grammar that have been met so far, and what leads from one to the next.

    Invariant: scratch vectors are empty or stale between calls, never read.
    """

    def __init__(self, Tables tables, *, size_t max_bytes, str where="grammar", bint memoize=True):
        cdef unique_lock[mutex] _held
        InternedStates.__init__(self, tables, max_bytes=max_bytes, where=where)
        self.lock = &tables.lock
        with nogil:
            _held = unique_lock[mutex](self.lock[0])        # an older machine on these tables may be at work
        self.memoize = memoize
        self.kernel_slots.assign(64, Slot(0, 0))
        self.kernels.reserve(32)
        self.items.reserve(16)
        self.kernel.reserve(16)
        self.final.reserve(16)
        self.slot_of_rule.assign(tables.start.size(), -1)
        cdef vector[Item] returns
        cdef int32_t root = C_ROOT
        self.dead = self.intern_set(returns)
        self.unlowered = &self.nowhere
        self.lowers = True
        returns.push_back(Item(C_ACCEPT, C_ROOT, 0))
        self.intern_frame(returns, -1, 0)
        returns[0] = Item(C_ESCAPE, C_BOTTOM, 0)
        self.intern_frame(returns, -1, 0)
        if tables.max_tokens[0] >= 0 or tables.marks[0]:
            returns[0] = Item(C_ACCEPT, C_ROOT, 0)
            root = self.intern_frame(returns, -2 if tables.marks[0] else tables.max_tokens[0], 0).number
        self.kernel.push_back(Item(tables.enter(0), root, 0))
        self.initial = self.close()
        if self.closed_marks == NULL:
            self.begun.clear()
        if tables.marks[0]:                 # a rule that is called by nobody
            self.begun.push_back(root)
        self.kernel.clear()
        self.first_marks = note_marks(self, self.kernel, self.begun)

    # -- stepping -------------------------------------------------------------------------------------------------

    cdef SetRec* advance(self, SetRec* source, uint8_t byte) except NULL nogil:
        """Compute a transition on a live byte, with the lock held, and remember it for all bytes that share it.

        Bytes between two ends of edges lead to one place.  Most sets are left by one way, so the first is remembered on
        the set itself; a few others in a list, many in a table.
        """
        cdef int32_t low = 0, high = 255
        self.check_budget()
        self._scan(source, byte, &low, &high)
        cdef SetRec* target = self.close()
        if target == self.unlowered:
            return target
        if self.memoize and source.first == NULL:
            source.first_low, source.first_high = <uint8_t>low, <uint8_t>high
            ms_store(<void**>&source.first, target)
        elif self.memoize:
            remember(self.arena, source, low, high, target)
        self.step_misses += 1
        return target

    cdef int _scan(self, SetRec* source, uint8_t byte, int32_t* low, int32_t* high) except -1 nogil:
        """Fill `kernel` with the items behind `byte`; the bytes from `low` to `high` lead to the same."""
        cdef int32_t i, k, counter
        cdef Item item
        cdef ByteEdge edge
        self.kernel.clear()
        for i in range(source.count):
            item = source.items[i]
            self.tables.need(item.state)
            for k in range(self.tables.states[item.state].edge_first, self.tables.states[item.state].edge_past):
                edge = self.tables.edges[k]
                if edge.high < byte:
                    low[0] = max(low[0], edge.high + 1)
                    continue
                # Edges ascend, and no two read one byte.
                if edge.low > byte:
                    high[0] = min(high[0], edge.low - 1)
                    break
                low[0], high[0] = max(low[0], edge.low), min(high[0], edge.high)
                counter = item.counter
                if ((not self.tables.bounded or self.tables.count(edge.target, &counter))
                        and (self.tables.states[item.state].steady or self._enters(edge.target, &counter))):
                    self.kernel.push_back(Item(edge.target, item.frame, counter))
                break
        return 0

    cdef int passage(self, SetRec* source, uint8_t byte, const vector[int32_t]& kept_open,
                     Passage* found) except -1 nogil:
        """With the lock held: where `byte` leads if what is judged in the frames `kept_open` does not end there (-1:
        nothing does), and what that does to marked nodes (`marks.pyx`)."""
        cdef int32_t low = 0, high = 255
        cdef vector[int32_t] key
        found.target = self.dead
        found.marks = NULL
        if not is_live(source, byte):
            return 0
        if not kept_open.empty() and self.memoize:
            key.push_back(source.number)
            key.push_back(byte)
            key.insert(key.end(), kept_open.begin(), kept_open.end())
            if self.kept_passages.count(key):
                found[0] = self.kept_passages[key]
                return 0
        self.check_budget()
        self._scan(source, byte, &low, &high)
        self.kept_open = kept_open
        try:
            found.target = self.close()
            found.marks = self.closed_marks
        finally:
            self.kept_open.clear()
        if not key.empty():
            self.kept_passages[key] = found[0]
        return 0

    cdef SetRec* advance_locked(self, SetRec* source, uint8_t byte) except NULL nogil:
        """`advance` for a caller that holds no lock; another thread may have been quicker."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock[0])
        cdef SetRec* known = known_step(source, byte)
        return self.advance(source, byte) if known == NULL else known

    cdef SetRec* token_step(self, SetRec* source, int32_t token, SetRec* spelt, bint has_text,
                            Passage* whole) except NULL nogil:
        """The set after `token` was taken `whole`, joined with `spelt`, the set after its bytes; takes the lock.

        Joining keeps both readings: a token may match by its id and by its bytes.  Negated sets take a token only if
        it `has_text` and is no stop token.
        """
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock[0])
        cdef int32_t i, k, chosen, counter
        cdef Item item
        whole.target, whole.marks = self.dead, <const Marks*>NULL
        self.check_budget()
        self.kernel.clear()
        for i in range(source.count):
            item = source.items[i]
            self.tables.need(item.state)
            for k in range(self.tables.states[item.state].token_first, self.tables.states[item.state].token_past):
                chosen = self.tables.tokens[k].token_set
                counter = item.counter
                if (self.tables.contains(chosen, token) and (has_text or not self.tables.token_negated[chosen])
                        and self._enters(self.tables.tokens[k].target, &counter)):
                    self.kernel.push_back(Item(self.tables.tokens[k].target, item.frame, counter))
        if self.kernel.empty():
            return spelt
        whole.target = self.close()
        whole.marks = <const Marks*>self.closed_marks
        if spelt == self.dead:
            return whole.target
        self.final.assign(whole.target.items, whole.target.items + whole.target.count)
        for i in range(spelt.count):
            self.final.push_back(spelt.items[i])
        return self.intern_set(self.final)

    cdef SetRec* returned(self, int32_t frame) except NULL nogil:
        """With the lock held: the set in which parsing goes on behind the rule that `frame` was predicted for."""
        cdef FrameRec* record = self.frames[frame]
        cdef int32_t i
        if record.returned == NULL or not self.memoize:
            self.check_budget()
            self.kernel.clear()
            for i in range(record.count):
                self.kernel.push_back(record.returns[i])
            record.returned = self.close()
        return record.returned

    cdef SetRec* single(self, int32_t state, int32_t frame, int32_t counter) except NULL nogil:
        """The set of one scannable item as it stands, not closed: its calls are other items' business."""
        self.check_budget()
        self.final.clear()
        self.final.push_back(Item(state, frame, counter))
        return self.intern_set(self.final)

    cdef SetRec* closed(self, SetRec* source) except NULL nogil:
        """`source` with what its items call and return to, which `single` and `part` leave out; with the lock held."""
        self.kernel.assign(source.items, source.items + source.count)
        return self.close()

    cdef SetRec* part(self, SetRec* source, vector[uint8_t]& left_out) except NULL nogil:
        """The set of those scannable items of `source` that are not marked in `left_out`; with the lock held."""
        cdef int32_t i
        self.check_budget()
        self.final.clear()
        for i in range(source.count):
            if not left_out[i]:
                self.final.push_back(source.items[i])
        return self.intern_set(self.final)

    cdef bint names(self, SetRec* source, int32_t token) except -1 nogil:
        """Whether a token edge of `source` names `token`; a negated set names nothing.  Takes the lock."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.lock[0])
        cdef int32_t i, k, chosen, state
        for i in range(source.count):
            state = source.items[i].state
            self.tables.need(state)
            for k in range(self.tables.states[state].token_first, self.tables.states[state].token_past):
                chosen = self.tables.tokens[k].token_set
                if not self.tables.token_negated[chosen] and self.tables.contains(chosen, token):
                    return True
        return False

    def complete(self):
        """Lower every rule and expand every state, for those who want to see or warm them all."""
        cdef unique_lock[mutex] _held
        with nogil:
            _held = unique_lock[mutex](self.lock[0])
        self.tables.complete()

    # -- closing --------------------------------------------------------------------------------------------------

    cdef SetRec* close(self) except NULL nogil:
        """The interned closure of `self.kernel`."""
        cdef int32_t only
        self.closed_marks = NULL
        if self.kernel.size() == 1:
            only = self.kernel[0].state
            if not self.tables.states[only].flags & (ACCEPTING | CALLS):
                return self.intern_set(self.kernel)        # nothing ends and nothing begins: inside a word
            if self.tables.states[only].flags & TAIL and self.memoize and not self.limited:
                return self.returned(self.kernel[0].frame)
        normalise(self.kernel)
        cdef int32_t count = <int32_t>self.kernel.size()
        cdef size_t nbytes = count * sizeof(Item)
        cdef uint32_t tag = <uint32_t>hash_words(self.kernel.data(), nbytes)
        cdef size_t at = tag & (self.kernel_slots.size() - 1)
        cdef KernelRec* known
        while self.kernel_slots[at].number and self.kept_open.empty():       # without `memoize` there are none
            if self.kernel_slots[at].tag == tag:
                known = self.kernels[self.kernel_slots[at].number - 1]
                if known.count == count and not memcmp(known.items, self.kernel.data(), nbytes):
                    self.closed_marks = known.marks
                    return known.result
            at = after(self.kernel_slots, at)
        self.items.assign(self.kernel.begin(), self.kernel.end())       # `=` would give its room away
        forget(&self.met)
        breathe(count)
        self.ends = False
        self.begun.clear()
        self._complete()
        if not self._predict():
            return self.unlowered
        cdef SetRec* result = self.intern_set(self.final)
        if self.ends or self.begun.size():
            self.closed_marks = note_marks(self, self.kernel, self.begun)
        if not self.memoize or self.kept_open.size():
            return result
        cdef KernelRec* record = <KernelRec*>self.arena.take(sizeof(KernelRec) + nbytes)
        record.count, record.result, record.marks = count, result, self.closed_marks
        record.items = <Item*>(record + 1)
        memcpy(record.items, self.kernel.data(), nbytes)
        self.kernels.push_back(record)
        put(self.kernel_slots, at, tag, <int32_t>self.kernels.size() - 1)
        return result

    cdef int _complete(self) except -1 nogil:
        """Add to `self.items` all that completed rules return to, and the next iterations of counted rules."""
        self.done.clear()
        self.lists = IN_SET
        self._complete_in(self.items, self.done, IN_SET)
        drop_covered(self, self.items)
        return 0

    cdef int _complete_in(self, vector[Item]& items, vector[uint8_t]& done, int32_t number) except -1 nogil:
        """The same in list `number`.  Items that are `done` are there with all that they bring about."""
        cdef size_t i = 0
        cdef int32_t k, iterations, rule
        cdef uint8_t flags
        cdef Item item
        cdef FrameRec* frame
        while i < items.size():
            item = items[i]
            i += 1
            flags = self.tables.states[item.state].flags
            if not flags & ACCEPTING or i <= done.size() and done[i - 1]:
                continue
            if not self.may_stop(item):
                continue
            if flags & COUNTED:
                rule = self.tables.states[item.state].rule
                iterations = item.counter + 1
                if item.counter < 0:
                    add_new(&self.met, items, number, self.tables.start[rule], item.frame, item.counter)
                elif self.tables.max_iterations[rule] < 0:
                    # Without an upper bound, iterations past the lower one are all alike.
                    add_new(&self.met, items, number, self.tables.start[rule], item.frame,
                            min(iterations, self.tables.min_iterations[rule]))
                elif iterations < self.tables.max_iterations[rule]:
                    add_new(&self.met, items, number, self.tables.start[rule], item.frame, iterations)
                if item.counter >= 0 and iterations < self.tables.min_iterations[rule]:
                    continue
            if self.marked and self.mark_of(item.frame):
                self.ends = True
                if self.keeps_open(item.frame):
                    continue
            frame = self.frames[item.frame]
            if frame.chained and not frame.visited:
                self._end(frame)
            if frame.ended_count < 0:
                for k in range(frame.count):
                    add_new(&self.met, items, number, frame.returns[k].state, frame.returns[k].frame,
                            frame.returns[k].counter)
                continue
            for k in range(frame.ended_count):
                if add_new(&self.met, items, number, frame.ended[k].state, frame.ended[k].frame,
                           frame.ended[k].counter):
                    done.resize(items.size(), 0)
                    done[items.size() - 1] = 1
        return 0

    cdef int _end(self, FrameRec* frame) except -1 nogil:
        """Find what ending the rule of `frame` brings about, and first the same of frames that this leads to."""
        cdef vector[FrameRec*] stack
        cdef vector[Item] items
        cdef vector[uint8_t] done
        cdef FrameRec* below
        cdef int32_t k
        cdef bint deeper
        if frame.ended_count >= 0:
            return 0
        stack.push_back(frame)
        try:
            while not stack.empty():
                breathe(1)
                frame = stack.back()
                frame.visited = 1
                deeper = False
                for k in range(frame.count):
                    below = self.frames[frame.returns[k].frame]
                    if (self.tables.states[frame.returns[k].state].flags & ACCEPTING and below.chained
                            and not below.visited and below.ended_count < 0):
                        stack.push_back(below)
                        deeper = True
                        break
                if deeper:
                    continue
                items.assign(frame.returns, frame.returns + frame.count)
                done.clear()
                self.lists -= 1
                self._complete_in(items, done, self.lists)
                drop_covered(self, items)
                stack.pop_back()
                frame.visited = 0
                if items.size() > MOST_ENDED:
                    frame.chained = 0
                    continue
                frame.ended = <Item*>self.arena.take(items.size() * sizeof(Item))
                memcpy(frame.ended, items.data(), items.size() * sizeof(Item))
                frame.ended_count = <int32_t>items.size()
        finally:
            for frame in stack:         # an error ended this: who comes next begins anew
                frame.visited = 0
        return 0

    cdef void _clear_slots(self) noexcept nogil:
        """Begin to make frames; an error may have ended the last time."""
        cdef size_t i
        for i in range(self.slot_rule.size()):
            self.slot_of_rule[self.slot_rule[i]] = -1
        self.slot_rule.clear()
        self.slot_left.clear()

    cdef int32_t _slot(self, int32_t rule) noexcept nogil:
        """The index of the frame that is being made for `rule`."""
        cdef int32_t slot
        if self.slot_of_rule.size() <= <size_t>rule:
            self.slot_of_rule.resize(self.tables.start.size(), -1)
        slot = self.slot_of_rule[rule]
        if slot < 0:
            slot = <int32_t>self.slot_rule.size()
            self.slot_of_rule[rule] = slot
            self.slot_rule.push_back(rule)
            if self.limited:
                self.slot_left.push_back(-2 - rule if self.tables.marks[rule] else self.tables.max_tokens[rule])
            if self.entries.size() <= <size_t>slot:
                self.entries.resize(slot + 1)
            self.entries[slot].clear()
        return slot

    cdef bint _predict(self) except -1 nogil:
        """Predict every rule called in `self.items`; leaves the set's items, unsorted, in `self.final`.

        False if a rule would have to be lowered and `self.lowers` is False: nothing has changed then.

        While frames are being made, a frame number f < 0 in an entry means the frame in slot -1-f.
        """
        cdef size_t i, j
        cdef int32_t k, m, slot, state, other, counter
        cdef Item item
        cdef FrameRec* frame
        cdef bint changed
        self._clear_slots()
        self.include_into.clear()
        self.include_from.clear()
        self.final.clear()
        for i in range(self.items.size()):
            item = self.items[i]
            if self.tables.states[item.state].flags & (SCANNABLE | SPECIAL | TOKENS):
                self.final.push_back(item)
            if not self.tables.states[item.state].flags & CALLS:
                continue
            self.tables.need(item.state)
            for k in range(self.tables.states[item.state].call_first, self.tables.states[item.state].call_past):
                counter = item.counter
                if not self._enters(self.tables.calls[k].target, &counter):
                    continue
                slot = self._slot(self.tables.calls[k].rule)
                if self.tables.states[self.tables.calls[k].target].flags & TAIL and self.left_of(item.frame) == -1:
                    frame = self.frames[item.frame]
                    for m in range(frame.count):
                        add_new(&self.met, self.entries[slot], slot, frame.returns[m].state, frame.returns[m].frame,
                                frame.returns[m].counter)
                else:
                    add_new(&self.met, self.entries[slot], slot, self.tables.calls[k].target, item.frame, counter)
        i = 0
        while i < self.slot_rule.size():
            breathe(1)
            if not self.lowers and self.tables.start[self.slot_rule[i]] < 0:
                return False
            state = self.tables.enter(self.slot_rule[i])
            self.tables.need_calls(state)
            for k in range(self.tables.states[state].call_first, self.tables.states[state].call_past):
                counter = 0
                if not self._enters(self.tables.calls[k].target, &counter):
                    continue
                slot = self._slot(self.tables.calls[k].rule)
                if self.tables.states[self.tables.calls[k].target].flags & TAIL and self.left_in_slot(<int32_t>i) == -1:
                    if slot != <int32_t>i:
                        self.include_into.push_back(slot)
                        self.include_from.push_back(<int32_t>i)
                else:
                    add_new(&self.met, self.entries[slot], slot, self.tables.calls[k].target, -1 - <int32_t>i, counter)
            i += 1
        if self.slot_rule.empty():
            return True
        # Tail calls among the new frames: pass returns on until nothing changes (chains are short, cycles end).
        changed = not self.include_into.empty()
        while changed:
            changed = False
            for i in range(self.include_into.size()):
                breathe(1)
                slot, other = self.include_into[i], self.include_from[i]
                for j in range(self.entries[other].size()):
                    item = self.entries[other][j]
                    if add_new(&self.met, self.entries[slot], slot, item.state, item.frame, item.counter):
                        changed = True
        if not self._intern_in_order():
            resolve_frames(self)
        for i in range(self.slot_rule.size()):
            state = self.tables.start[self.slot_rule[i]]
            if self.tables.states[state].flags & (SCANNABLE | TOKENS):
                self.final.push_back(Item(state, self.frame_of_slot[i], 0))
            if self.marked and self.tables.marks[self.slot_rule[i]]:
                self.begun.push_back(self.frame_of_slot[i])
        return True

    cdef bint _intern_in_order(self) except -1 nogil:
        """Intern the frames slot by slot; False, and nothing done, if one refers to itself or to a later one.

        Slots are in the order of prediction, so only rules that were predicted before are referred to unless the
        grammar recurs on the left: components of one frame, in dependency order already.
        """
        cdef size_t i, j, n = self.slot_rule.size()
        cdef Item* entry
        for i in range(n):
            for j in range(self.entries[i].size()):
                if -1 - self.entries[i][j].frame >= <int32_t>i:
                    return False
        self.frame_of_slot.resize(n)
        for i in range(n):
            for j in range(self.entries[i].size()):
                entry = &self.entries[i][j]
                if entry.frame < 0:
                    entry.frame = self.frame_of_slot[-1 - entry.frame]
            drop_covered(self, self.entries[i])
            normalise(self.entries[i])
            self.frame_of_slot[i] = self.intern_frame(self.entries[i], self.left_in_slot(<int32_t>i),
                                                       self.slot_rule[i]).number
        return True

    # -- budgets --------------------------------------------------------------------------------------------------

    cdef void begin(self, int64_t limit_ms, const int* cancelled) noexcept nogil:
        """With the lock held: what is computed until `end` may take `limit_ms` (0: any time) and may be called off."""
        start_clock(&self.clock, limit_ms, cancelled, <PyObject*>self.where)

    cdef void end(self) noexcept nogil:
        stop_clock(&self.clock)
