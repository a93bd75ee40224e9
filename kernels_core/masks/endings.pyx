# distutils: language = c++
"""How many tokens end the text: a number that is certain, and the mask of what leaves as many as are left.

Of a *place*, a state of a rule with what is counted there, the fewest bytes to the end of its rule are searched for,
over byte edges and calls (Knuth 1977, who generalised Dijkstra's algorithm to grammars; here on demand, so that no rule
is lowered that is not worth a look).  A search goes through what the parser itself would go through: registers of members,
counts of characters, gates.  The way that it finds is kept, place by place, and the bytes of a way up to the next call
are cut into the fewest tokens.  To the rest of a rule is added what its frames return to, which is the same sum again.

Invariants, and why the number is certain:

- A way is kept once: whoever comes to a place goes on by the way of that place.  So a token of the cut leads to a place
  that needs one token less, and a set that needs `n > 0` tokens takes one behind which `n - 1` are enough.
- Only bytes are read for which the vocabulary has a token of that byte alone, so every way has a cut.
- Inside of rules that limit their tokens only ways count that end in time: other readings may be dropped then.

It is an upper bound: a token that ends in another rule than it began in is not counted on, nor a longer text of fewer
tokens.  Values that are to differ are not looked at (`matcher.pyx` does).

Who asks holds no lock: a question takes the machine's until it is answered.

Read on: `../text_in_time.pyx` (asks), `../earley/token_limits.pyx`.
"""

cimport cython

from libc.stdint cimport uint32_t
from libcpp.algorithm cimport sort
from libcpp.mutex cimport mutex, unique_lock

from kernels_core.automata.tables cimport ACCEPTING, COUNTED, members_at
from kernels_core.clock cimport breathe
from kernels_core.earley.machine cimport step
from kernels_core.earley.records cimport (
    C_ACCEPT, C_ESCAPE, COUNTS, FrameRec, ms_load, ms_store,
)
from kernels_core.earley.token_limits cimport BEGIN, SETTLE, at_boundary
from kernels_core.masks.mask_table cimport add_id
from kernels_core.masks.self_loops cimport loop_of
from kernels_core.masks.trie cimport Below, child_of, live_children

from kernels_core.errors import BudgetExceededError

cdef int64_t MOST_STEPS = 1 << 19       # of one search, and of all that it waits for: some 100 bytes each
cdef int64_t MOST_TAKEN_OUT = 1024       # of a mask; others are drafted anew


cdef class ShortestEnds:
    """Ends of the texts of one machine, over the vocabulary of `trie`; masks go to `table`.

    any_byte: ends are counted in bytes, whether the vocabulary spells them or not, and nothing in tokens is asked.
    """

    def __init__(self, TokenTrie trie not None, Machine machine not None, MaskTable table not None, *,
                 bint any_byte=False):
        cdef int32_t byte, node
        self.trie, self.machine, self.table, self.spells_all = trie, machine, table, True
        for byte in range(256):
            node = child_of(trie, 0, <uint8_t>byte)
            self.rank[byte] = _rank(byte)
            if not any_byte and (node < 0 or trie.nodes[node].token_first == trie.nodes[node + 1].token_first):
                self.rank[byte] = -1
                self.spells_all = False

    cdef size_t held(self) noexcept nogil:
        """Bytes of what is known of places and frames, about."""
        return 96 * self.places.size() + 8 * self.ends.size()

    # -- asking -------------------------------------------------------------------------------------------------------

    cdef int64_t to_end(self, SetRec* record) except -1 nogil:
        """Tokens to an end of the text from `record`, a stop token not counted; NEVER: none was found."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.machine.lock[0])
        if ms_load(&record.ending) == NULL:
            self.machine.check_budget()
        return self._to_end(record)

    cdef int64_t _to_end(self, SetRec* record) except -1 nogil:
        """`to_end`, with the machine's lock held."""
        cdef Ending* known = <Ending*>ms_load(&record.ending)
        cdef int32_t last
        if known == NULL:
            known = <Ending*>self.machine.arena.take(sizeof(Ending))
            known.tokens = 0 if record.completed else self._settle(record, True, &last)
            ms_store(&record.ending, known)
        return known.tokens

    cdef int64_t text(self, SetRec* record, int64_t most, vector[uint8_t]& found) except -2 nogil:
        """The fewest bytes to an end; -1, and nothing is found, if there are none, or more than `most`, or a token
        without text is among them."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.machine.lock[0])
        cdef vector[int32_t] chain
        cdef int32_t last
        cdef size_t n
        if record.completed:
            return 0
        if self._settle(record, False, &last) > most:
            return -1
        while last >= 0:
            chain.push_back(last)
            last = self.behind[last].before
        for n in range(chain.size(), 0, -1):
            if self._spell(self.behind[chain[n - 1]].place, self.behind[chain[n - 1]].missing, found) < 0:
                found.clear()
                return -1
        return <int64_t>found.size()

    cdef int64_t cut(self, const uint8_t* text, Py_ssize_t size, int64_t left, vector[int32_t]& first) except -1 nogil:
        """The fewest tokens that spell `text`; NEVER: there are none.  Those behind whose first `left` are enough go to
        `first`."""
        cdef vector[int64_t] fewest
        cdef Py_ssize_t begin, end
        cdef int32_t node, i
        fewest.assign(size + 1, NEVER)
        fewest[size] = 0
        first.clear()
        for begin in range(size - 1, -1, -1):
            node, end = 0, begin
            while end < size:
                node = child_of(self.trie, node, text[end])
                if node < 0:
                    break
                end += 1
                if self.trie.nodes[node].token_first == self.trie.nodes[node + 1].token_first:
                    continue
                fewest[begin] = min(fewest[begin], fewest[end] + 1)
                if begin == 0 and fewest[end] <= left:
                    for i in range(self.trie.nodes[node].token_first, self.trie.nodes[node + 1].token_first):
                        first.push_back(self.trie.ids[i])
        return fewest[0]

    cdef MaskRec* filtered(self, SetRec* record, MaskRec* mask, int64_t left, vector[int32_t]& ids,
                           vector[int64_t]& lengths) except NULL nogil:
        """`mask`, that of `record`, without the tokens behind which `left` tokens are not enough.

        `ids`, `lengths`: all ids of `mask` and how many tokens end the text behind each, for sets with token edges;
        empty for others: they get what the bytes of tokens say, if that was looked for.
        """
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.machine.lock[0])
        cdef vector[Stretch] found
        cdef Span* span
        cdef int32_t n
        self._to_end(record)
        span = span_at(<Ending*>record.ending, left)
        if span != NULL:
            return span.mask
        if ids.empty() and not record.tokens:
            self._walk(record, found)
            return self._keep(record, mask, left, self.trie.ids.data(), found)
        for n in range(<int32_t>ids.size()):
            found.push_back(Stretch(n, n + 1, lengths[n]))
        return self._keep(record, mask, left, ids.data(), found)

    cdef int _walk(self, SetRec* record, vector[Stretch]& stretches) except -1 nogil:
        """Find the ids of the trie that the bytes of tokens lead to from `record`, in stretches: a string that goes on
        takes most of the vocabulary, and leads back to one set."""
        cdef vector[Walked] todo
        cdef int32_t[256] found
        cdef int32_t node, count, k, first, past
        cdef uint64_t[4] loop           # bytes that lead from `looked_at` back to itself, if `loops`
        cdef bint loops = False
        cdef SetRec* looked_at = NULL
        cdef SetRec* at
        cdef SetRec* target
        todo.push_back(Walked(0, at_boundary(self.machine, record, BEGIN)))
        while not todo.empty():
            node, at = todo.back().node, todo.back().set
            todo.pop_back()
            count = live_children(self.trie, node, at.live, found)
            breathe(1 + count)
            for k in range(count):
                target = step(self.machine, at, self.trie.nodes[found[k]].byte)
                if target == self.machine.dead:
                    continue
                past = found[k] + 1             # the node behind those whose tokens lead to `target`
                if self.trie.nodes[found[k]].below >= 0:
                    if target != looked_at:
                        looked_at = target
                        loops = loop_of(self.machine, target, loop)
                    if loops and _is_within(self.trie.below[self.trie.nodes[found[k]].below], loop):
                        past = self.trie.nodes[found[k]].skip
                first = self.trie.nodes[found[k]].token_first
                if first < self.trie.nodes[past].token_first:
                    stretches.push_back(Stretch(first, self.trie.nodes[past].token_first,
                                                self._to_end(at_boundary(self.machine, target, SETTLE))))
                if self.trie.nodes[found[k]].skip > past:
                    todo.push_back(Walked(found[k], target))
        return 0

    cdef MaskRec* _keep(self, SetRec* record, MaskRec* mask, int64_t left, const int32_t* ids,
                        const vector[Stretch]& found) except NULL nogil:
        """`filtered`, once it is known of all ids of `mask` how many tokens end the text behind each: they are `found`
        in `ids`."""
        cdef vector[int32_t] some, nothing
        cdef Span* span = <Span*>self.machine.arena.take(sizeof(Span))
        cdef Ending* ending = <Ending*>record.ending
        cdef int64_t allowed = 0, refused = 0
        cdef bint takes_out
        cdef int32_t i
        cdef size_t n
        span.low, span.high, span.mask = 0, NEVER, mask
        for n in range(found.size()):
            if found[n].tokens <= left:
                span.low = max(span.low, found[n].tokens)
                allowed += found[n].past - found[n].first
            else:
                span.high = min(span.high, found[n].tokens)
                refused += found[n].past - found[n].first
        if refused:
            takes_out = mask.words != NULL and refused <= MOST_TAKEN_OUT
            for n in range(found.size()):
                if takes_out == (found[n].tokens > left):
                    for i in range(found[n].first, found[n].past):
                        some.push_back(ids[i])
            span.mask = self.table.alter(mask, nothing, some) if takes_out else self._only(mask, some)
        if not allowed:
            span.low = 0
        span.next = <Span*>ending.spans
        ms_store(&ending.spans, span)
        return span.mask

    cdef MaskRec* only(self, MaskRec* mask, vector[int32_t]& allowed) except NULL nogil:
        """The mask of the ids `allowed`, some of those of `mask`."""
        cdef unique_lock[mutex] _held = unique_lock[mutex](self.machine.lock[0])
        return self._only(mask, allowed)

    cdef MaskRec* _only(self, MaskRec* mask, vector[int32_t]& allowed) except NULL nogil:
        """`only`, with the machine's lock held."""
        cdef size_t n
        if <int32_t>allowed.size() == mask.population:
            return mask
        self.table.begin()
        for n in range(allowed.size()):
            add_id(self.table, allowed[n])
        return self.table.finish()

    # -- frames -------------------------------------------------------------------------------------------------------

    cdef int64_t _settle(self, SetRec* record, bint tokens, int32_t* last) except -1 nogil:
        """The least sum over an item of `record` and a way down its frames, in tokens or in bytes; `last` is the frame
        that the way ends with, and `behind` says how it came there."""
        cdef bint counts = tokens and record.limits & COUNTS
        cdef FrameRec* frame
        cdef int32_t i, number
        cdef int64_t length
        last[0] = -1
        self.behind.clear()
        while not self.frames.empty():
            self.frames.pop()
        self.ends.resize(max(self.ends.size(), self.machine.frames.size()), -1)
        for i in range(record.count):
            self._lead(record.items[i], 0, -1, tokens)
        while not self.frames.empty():
            breathe(1)
            length, number = -self.frames.top().first, <int32_t>self.frames.top().second
            self.frames.pop()
            if number < 0:                  # an end
                last[0] = number = -1 - number
                while number >= 0 and tokens and not counts:
                    self.ends[number] = length - self.behind[number].length
                    number = self.behind[number].before
                return length
            if self.behind[number].settled:
                continue
            self.behind[number].settled = 1
            if counts and 0 <= self.machine.left_of(number) < length:
                continue
            if tokens and not counts and self.ends[number] >= 0:
                self.frames.push(pair[int64_t, int64_t](-length - self.ends[number], -1 - number))
                continue
            frame = self.machine.frames[number]
            for i in range(frame.count):
                if frame.returns[i].state == C_ACCEPT or frame.returns[i].state == C_ESCAPE:
                    self.frames.push(pair[int64_t, int64_t](-length, -1 - number))
                else:
                    self._lead(frame.returns[i], length, number, tokens)
        return NEVER

    cdef int _lead(self, const Item& item, int64_t length, int32_t before, bint tokens) except -1 nogil:
        """Note that `item`, which is come to after `length`, leads to the end of its frame's rule."""
        cdef int32_t missing = 0, place
        cdef int64_t more
        if item.state == C_ACCEPT or item.state == C_ESCAPE:
            return 0
        place = self._of_item(item, &missing)
        more = self._length(place, missing, tokens)
        if more >= NEVER:
            return 0
        length += more
        if not self.behind.count(item.frame) or length < self.behind[item.frame].length:
            self.behind[item.frame] = Behind(length, before, place, missing, 0)
            self.frames.push(pair[int64_t, int64_t](-length, item.frame))
        return 0

    cdef int32_t _of_item(self, const Item& item, int32_t* missing) except -1 nogil:
        """The place of an item, and how many iterations of its rule are missing behind the one under way."""
        cdef int32_t rule = self.machine.tables.states[item.state].rule
        if not self.machine.tables.states[item.state].flags & COUNTED:
            return self._place(item.state, item.counter)
        missing[0] = max(0, self.machine.tables.min_iterations[rule] - item.counter - 1) if item.counter >= 0 else 0
        return self._place(item.state, 0)

    cdef int64_t _length(self, int32_t place, int32_t missing, bint tokens) except -1 nogil:
        """From `place` to the end of its rule, with so many more iterations."""
        cdef int32_t start
        cdef int64_t length
        self._solve(place)
        length = self.places[place].tokens if tokens else self.places[place].bytes
        if length >= NEVER or not missing:
            return length
        start = self._place(self.machine.tables.start[self.machine.tables.states[self.places[place].state].rule], 0)
        self._solve(start)
        return _sum(length, _product(self.places[start].tokens if tokens else self.places[start].bytes, missing))

    cdef int _spell(self, int32_t place, int32_t missing, vector[uint8_t]& found) except -2 nogil:
        """Append the shortest text from `place` to the end of its rule; -1 if a token without text is in it."""
        cdef vector[pair[int32_t, int32_t]] todo        # places, and iterations behind them
        cdef int32_t start
        todo.push_back(pair[int32_t, int32_t](place, missing))
        while not todo.empty():
            place, missing = todo.back().first, todo.back().second
            todo.pop_back()
            breathe(1)
            if missing > 0:
                start = self.machine.tables.states[self.places[place].state].rule
                start = self._place(self.machine.tables.start[start], 0)
                todo.push_back(pair[int32_t, int32_t](start, missing - 1))
            while self.places[place].way == BY_BYTE:
                found.push_back(<uint8_t>self.places[place].part)
                place = self.places[place].next
            if self.places[place].way == BY_TOKEN:
                return -1
            if self.places[place].way == BY_CALL:
                todo.push_back(pair[int32_t, int32_t](self.places[place].next, 0))
                start = self._place(self.machine.tables.start[self.places[place].part], 0)
                todo.push_back(pair[int32_t, int32_t](start, <int32_t>self._times(self.places[place].part) - 1))
        return 0

    # -- places -------------------------------------------------------------------------------------------------------

    cdef int32_t _place(self, int32_t state, int32_t counter) except -1 nogil:
        cdef uint64_t key = <uint64_t>state << 32 | <uint32_t>counter
        cdef int32_t number
        if self.place_of.count(key):
            return self.place_of[key]
        number = <int32_t>self.places.size()
        self.places.push_back(Place(state, counter, -1, -1, -1, -1, NO_WAY))
        self.place_of[key] = number
        return number

    cdef int64_t _times(self, int32_t rule) noexcept nogil:
        """Iterations that a call of `rule` needs."""
        return max(1, self.machine.tables.min_iterations[rule])

    cdef int _solve(self, int32_t place) except -1 nogil:
        """Find the way from `place` to the end of its rule, or that there is none.

        Members cost what they cost in any order, so they are looked for in one.  Where the name of another has begun,
        that one comes first.
        """
        if self.places[place].bytes >= 0:
            return 0
        self.any_first = self.left_out = False
        self._search(place)
        if self.places[place].bytes < 0:
            self.any_first = True
            self._search(place)
        if self.events.size() > 1 << 14:        # a long search: give its memory back
            vector[Event]().swap(self.events)
            vector[Reached]().swap(self.reached)
            unordered_map[uint64_t, int32_t]().swap(self.reached_of)
        return 0

    cdef int _search(self, int32_t place) except -1 nogil:
        """`_solve` with what `any_first` says; nothing may be known then, if something was left out."""
        cdef Event event
        cdef Reached* at
        cdef size_t n
        self.reached.clear()
        self.reached_of.clear()
        self.starts.clear()
        self.search_of.clear()
        self.waiting.clear()
        self.events.clear()
        while not self.queue.empty():
            self.queue.pop()
        self.steps = 0
        self._begin(place)
        while self.places[place].bytes < 0 and not self.queue.empty():
            event = self.events[-self.queue.top().second]
            self.queue.pop()
            self.steps += 1
            breathe(4)
            if self.steps > MOST_STEPS:
                with gil:
                    raise BudgetExceededError("steps to a shortest end", MOST_STEPS, self.machine.where)
            at = &self.reached[event.reached]
            if self.starts[at.search] < 0:
                continue
            if event.rule == -2:
                self._end(event.reached)
            elif event.rule >= 0:
                self._call(event)
            elif not at.settled:
                at.settled = 1
                self._expand(event.reached)
        if self.places[place].bytes < 0:            # nothing is left to try, for anybody
            for n in range(1 if self.left_out and not self.any_first else 0, self.starts.size()):
                if self.starts[n] >= 0:
                    self.places[self.starts[n]].bytes = self.places[self.starts[n]].tokens = NEVER
        return 0

    cdef int _begin(self, int32_t place) except -1 nogil:
        """Begin a search at `place`."""
        cdef int32_t search = <int32_t>self.starts.size()
        cdef vector[Event] nobody
        self.starts.push_back(place)
        self.search_of[place] = search
        self.waiting.push_back(nobody)
        return self._reach(search, place, 0, -1, -1, NO_WAY)

    cdef int _push(self, int64_t bytes, int32_t reached, int32_t rule, int32_t target) except -1 nogil:
        self.events.push_back(Event(reached, rule, target))
        self.queue.push(pair[int64_t, int64_t](-bytes, 1 - <int64_t>self.events.size()))
        return 0

    cdef int _reach(self, int32_t search, int32_t place, int64_t bytes, int32_t before, int32_t part,
                    uint8_t way) except -1 nogil:
        """Note that a search comes to `place` after so many bytes."""
        cdef uint64_t key = <uint64_t>search << 32 | <uint32_t>place
        cdef int32_t number
        if self.reached_of.count(key):
            number = self.reached_of[key]
            if self.reached[number].settled or self.reached[number].bytes <= bytes:
                return 0
            self.reached[number] = Reached(search, place, before, part, bytes, way, 0)
        else:
            number = self.reached_of[key] = <int32_t>self.reached.size()
            self.reached.push_back(Reached(search, place, before, part, bytes, way, 0))
        return self._push(bytes, number, -1, -1)

    cdef int _expand(self, int32_t at) except -1 nogil:
        """Go on from where a search has come to."""
        cdef Reached here = self.reached[at]
        cdef int32_t state = self.places[here.place].state, counter, k, byte, best
        cdef vector[pair[int32_t, int32_t]] edges           # by rank
        cdef size_t n
        if self.places[here.place].bytes >= 0:
            if self.places[here.place].bytes < NEVER:
                self._push(here.bytes + self.places[here.place].bytes, at, -2, -1)
            return 0
        counter = self.places[here.place].counter
        if (self.machine.tables.states[state].flags & ACCEPTING
                and self.machine.registers.may_end(members_at(self.machine.tables, state), counter)
                and (not self.machine.tables.bounded or self.machine.tables.is_long_enough(state, counter))):
            self.places[here.place].bytes = self.places[here.place].tokens = 0
            return self._push(here.bytes, at, -2, -1)
        self.machine.tables.need(state)
        for k in range(self.machine.tables.states[state].edge_first, self.machine.tables.states[state].edge_past):
            best = -1
            for byte in range(self.machine.tables.edges[k].low, self.machine.tables.edges[k].high + 1):
                if self.rank[byte] < 0:
                    self.lacking = True
                elif best < 0 or self.rank[byte] < self.rank[best]:
                    best = byte
            if best >= 0:
                edges.push_back(pair[int32_t, int32_t](
                    self.rank[best] << 8 | best, self.machine.tables.edges[k].target))
        sort(edges.begin(), edges.end())
        for n in range(edges.size()):
            self._go(at, here.bytes + 1, edges[n].second, edges[n].first & 255, BY_BYTE)
        for k in range(self.machine.tables.states[state].token_first, self.machine.tables.states[state].token_past):
            if self._has_token(self.machine.tables.tokens[k].token_set):
                self._go(at, here.bytes + 1, self.machine.tables.tokens[k].target, -1, BY_TOKEN)
        for k in range(self.machine.tables.states[state].call_first, self.machine.tables.states[state].call_past):
            self._push(here.bytes + 1, at, self.machine.tables.calls[k].rule, self.machine.tables.calls[k].target)
        return 0

    cdef int _go(self, int32_t at, int64_t bytes, int32_t state, int32_t part, uint8_t way) except -1 nogil:
        """Go on to `state`, if what was read allows it."""
        cdef Reached here = self.reached[at]
        cdef int32_t counter = self.places[here.place].counter, began
        if way == BY_BYTE and self.machine.tables.bounded and not self.machine.tables.count(state, &counter):
            return 0
        if self.machine.tables.gated and self.machine.tables.states[state].gate >= 0:
            began = self.places[self.starts[here.search]].counter
            if not (self.any_first and here.search == 0 and counter == began):
                if not self.machine.registers.is_next(self.machine.tables, state, counter):
                    self.left_out = self.left_out or here.search == 0
                    return 0
            if not self.machine.registers.enter(self.machine.tables, state, &counter):
                return 0
        return self._reach(here.search, self._place(state, counter), bytes, at, part, way)

    cdef int _call(self, const Event& event) except -1 nogil:
        """Go on behind the call of a rule, now or when its own end was found."""
        cdef int32_t start = self._place(self.machine.tables.enter(event.rule), 0)
        if self.places[start].bytes >= 0:
            return self._return(event, start)
        if not self.search_of.count(start):
            self._begin(start)
        self.waiting[self.search_of[start]].push_back(event)
        return 0

    cdef int _return(self, const Event& call, int32_t start) except -1 nogil:
        """Go on behind a call whose rule takes what is known of its `start`."""
        cdef int64_t times = self._times(call.rule), bytes = _product(self.places[start].bytes, times)
        cdef int64_t most = self.machine.tables.max_tokens[call.rule]
        if bytes >= NEVER or 0 <= most < _product(self.places[start].tokens, times):
            return 0
        return self._go(call.reached, self.reached[call.reached].bytes + bytes, call.target, call.rule, BY_CALL)

    cdef int _end(self, int32_t at) except -1 nogil:
        """A search has ended at a place of which the rest is known: keep the way to it, and let others go on."""
        cdef int32_t search = self.reached[at].search, start = self.starts[search], next = self.reached[at].place
        cdef int64_t total = self.reached[at].bytes + self.places[next].bytes
        cdef Reached one = self.reached[at]
        cdef vector[Event] waiting
        cdef Place* place
        cdef size_t n
        while one.before >= 0:
            place = &self.places[self.reached[one.before].place]
            if place.bytes < 0:
                place.bytes = total - self.reached[one.before].bytes
                place.next, place.part, place.way = next, one.part, one.way
                place.tokens = self._cut(self.reached[one.before].place)
            next = self.reached[one.before].place
            one = self.reached[one.before]
        self.starts[search] = -1
        waiting.swap(self.waiting[search])
        for n in range(waiting.size()):
            if self.starts[self.reached[waiting[n].reached].search] >= 0:
                self._return(waiting[n], start)
        return 0

    cdef int64_t _cut(self, int32_t place) noexcept nogil:
        """The fewest tokens along the way from `place`, of which all that follows is known."""
        cdef int32_t node = 0, at = place
        cdef int64_t best = NEVER
        cdef Place here = self.places[place]
        if here.way == BY_TOKEN:
            return self.places[here.next].tokens + 1
        if here.way == BY_CALL:
            at = self.place_of[<uint64_t>self.machine.tables.start[here.part] << 32]
            return _sum(_product(self.places[at].tokens, self._times(here.part)), self.places[here.next].tokens)
        while self.places[at].way == BY_BYTE:
            node = child_of(self.trie, node, <uint8_t>self.places[at].part)
            if node < 0:
                break
            at = self.places[at].next
            if self.trie.nodes[node].token_first < self.trie.nodes[node + 1].token_first:
                best = min(best, self.places[at].tokens + 1)
        return best

    cdef bint _has_token(self, int32_t token_set) noexcept nogil:
        """Whether some token of the vocabulary is in a token set of the grammar."""
        cdef int32_t token
        if not self.machine.tables.token_negated[token_set]:
            for token in self.machine.tables.token_ids[token_set]:
                if 0 <= token < self.trie.vocab_size:
                    return True
            return False
        for token in range(self.trie.vocab_size):
            if (self.trie.spelt[token >> 5] >> (token & 31) & 1
                    and self.machine.tables.contains(token_set, token)):
                return True
        return False


cdef bint _is_within(const Below& below, const uint64_t* bytes) noexcept nogil:
    """Whether only some `bytes` occur in a part of the trie."""
    return not below.beyond_ascii and not (below.ascii[0] & ~bytes[0] | below.ascii[1] & ~bytes[1])


cdef int32_t _rank(int32_t byte) noexcept nogil:
    """Orders bytes that do equally well: signs and blanks that are printable first, then letters, then all others."""
    cdef bint word = 48 <= byte < 58 or 65 <= byte < 91 or 97 <= byte < 123
    return (1 if word else 0 if 0x20 < byte < 0x7F else 2) << 8 | byte


cdef inline int64_t _sum(int64_t a, int64_t b) noexcept nogil:
    return min(NEVER, a + b)


@cython.cdivision(True)
cdef inline int64_t _product(int64_t a, int64_t b) noexcept nogil:
    return NEVER if a and b > NEVER // a else a * b
