# distutils: language = c++
"""Languages as position automata: sets of states are integers, and one step is an "or" and an "and".

A regular expression without complements has one state for each place where it mentions a character (V. M. Glushkov,
Russian Math. Surveys 16, 1961): reading a letter leads from a set of places to those that may follow and hold the
letter.  Each such part of a language is a `_Leaf`, which is determinised as far as it is asked for; intersections,
complements and unions of leaves are decided on tuples of leaf states.  So nothing is built for what cannot be reached,
and a tuple is dropped as soon as the parts that are settled settle the whole.  Intersections and complements inside a
sequence are determinised first: their states are places.

What this cannot do (`Unfolding`, very many places) is `None` to the caller, which then takes derivatives.

Read on: `dfa.py` (who calls this), `languages.pyx`.
"""

from libcpp.vector cimport vector

from kernels_core.clock cimport rest
from kernels_core.grammar.ranges cimport contains

from kernels_core.grammar.regular.languages import Alt, And, Cat, Chars, Loop, Not, Words
from kernels_core.grammar.regular.dfa_tables import smallest

# Places of one leaf, and depth of what is followed by recursion.
cdef int MAX_POSITIONS = 8_000
cdef int MAX_DEPTH = 150
cdef int FEW_PLACES = 6
cdef int DEAD = 0, ALWAYS = 1, OPEN = 2
cdef object ONE = 1         # shifted as a Python integer, of any size
cdef int LEAF = 0, NOT = 1, ALL_OF = 2, ANY_OF = 3


class _Beyond(Exception):
    """Not for this module."""


cdef class _Leaf:
    """The position automaton of one expression, and its deterministic states as far as they were met."""

    cdef list follow            # place -> places behind it, as bits
    cdef list masks             # letter -> places that hold it
    cdef object last            # places where the text may end
    cdef object universal       # places from which every text goes on and ends
    cdef list rows              # state -> states by letter, or None
    cdef list sets              # state -> places
    cdef vector[int] kinds      # state -> DEAD, ALWAYS or OPEN
    cdef vector[char] accepts
    cdef dict numbers           # places -> state
    cdef object first
    cdef bint nullable
    cdef dict letters_of        # ranges -> mask of letters
    cdef list samples
    cdef list holds             # place -> mask of letters
    cdef dict automata          # intersection or complement -> its minimal automaton: (table, accepting)

    def __init__(self, item, list samples, dict letters_of):
        self.samples = samples
        self.letters_of = letters_of
        self.follow = []
        self.holds = []
        self.automata = {}
        first, last, nullable = self._add(item, 0)
        cdef int letter, place
        cdef int count = len(self.follow)
        cdef list bits = [bytearray(count // 8 + 1) for _ in samples]
        cdef list wide = []
        every = (ONE << len(samples)) - 1
        for place in range(count):
            rest(len(samples))
            holds = self.holds[place]
            if holds == every:
                wide.append(place)
            while holds:
                low = holds & -holds
                letter = low.bit_length() - 1
                (<bytearray>bits[letter])[place >> 3] |= 1 << (place & 7)
                holds ^= low
        self.masks = [int.from_bytes(one, "little") for one in bits]
        endless = 0
        for place in wide:
            bit = ONE << place
            if self.follow[place] & bit and last & bit:
                endless |= bit
        self.universal = endless
        if endless:
            for place in range(count):
                if self.follow[place] & endless and last & (ONE << place):
                    self.universal |= ONE << place
        self.last = last
        self.first = first
        self.nullable = nullable
        # State 0 is dead, 1 accepts everything; 2 is the start, before any place.
        self.rows = [[0] * len(samples), [1] * len(samples), None]
        self.sets = [0, None, None]
        for kind, accepts in ((DEAD, False), (ALWAYS, True), (OPEN, nullable)):
            self.kinds.push_back(kind)
            self.accepts.push_back(accepts)
        self.numbers = {0: 0}

    # -- places ---------------------------------------------------------------------------------------------------

    cdef object _place(self, ranges):
        """A new place for the characters of `ranges`, as a bit."""
        found = self.letters_of.get(ranges)
        if found is None:
            found = 0
            for letter, sample in enumerate(self.samples):
                if contains(ranges, sample):
                    found |= ONE << letter
            self.letters_of[ranges] = found
        return self._place_of(found)

    cdef object _place_of(self, letters):
        """A new place for a mask of letters, as a bit."""
        cdef int number = len(self.follow)
        if number >= MAX_POSITIONS:
            raise _Beyond
        rest(4)
        self.holds.append(letters)
        self.follow.append(0)
        return ONE << number

    cdef int _connect(self, before, after) except -1:
        """`after` may follow `before`."""
        cdef int words = 1 + len(self.follow) // 64         # of memory, that each of these integers may have
        if not after:
            return 0
        while before:
            rest(1 + words)
            low = before & -before
            place = low.bit_length() - 1
            self.follow[place] |= after
            before ^= low
        return 0

    cdef tuple _add(self, item, int depth):
        """Places of `item`: (the first ones, the last ones, may it be empty)."""
        if depth > MAX_DEPTH:
            raise _Beyond
        kind = type(item)
        if kind is Chars:
            place = self._place(item.ranges)
            return place, place, False
        if kind is Words:
            return self._add_words(item.words)
        if kind is Cat:
            first, last, nullable = self._add((<tuple>item.items)[0], depth + 1)
            for part in (<tuple>item.items)[1:]:
                more_first, more_last, more_nullable = self._add(part, depth + 1)
                self._connect(last, more_first)
                if nullable:
                    first |= more_first
                last = last | more_last if more_nullable else more_last
                nullable = nullable and more_nullable
            return first, last, nullable
        if kind is Alt:
            first, last, nullable = 0, 0, False
            for part in item.items:
                more_first, more_last, more_nullable = self._add(part, depth + 1)
                first |= more_first
                last |= more_last
                nullable = nullable or more_nullable
            return first, last, nullable
        if kind is Loop:
            return self._add_loop(item, depth)
        if kind is And or kind is Not:
            return self._add_automaton(item)
        raise _Beyond

    cdef tuple _add_automaton(self, item):
        """A place for each state and set of letters that leads to it."""
        found = self.automata.get(item)
        if found is None:
            made = explore(item, tuple([((sample, sample),) for sample in self.samples]), MAX_POSITIONS)
            if type(made) is not tuple:
                raise _Beyond
            found = self.automata[item] = smallest(*made)
        cdef list table, accepting, ways = []
        cdef dict places = {}       # (state, mask of letters that lead to it) -> place
        table, accepting = found
        for row in table:
            by_target = {}
            for letter, target in enumerate(row):
                if target >= 0:
                    by_target[target] = by_target.get(target, 0) | ONE << letter
            after = 0
            for key in by_target.items():
                place = places.get(key)
                if place is None:
                    place = places[key] = self._place_of(key[1])
                after |= place
            ways.append(after)
        last = 0
        for (target, _), place in places.items():
            self._connect(place, ways[target])
            if accepting[target]:
                last |= place
        return ways[0], last, accepting[0]

    cdef tuple _add_words(self, words):
        """A tree: words that begin alike share places."""
        if sum(map(len, words)) > 20 * MAX_POSITIONS:
            raise _Beyond
        cdef dict places = {}
        first, last = 0, 0
        for text in sorted(words):
            before = None
            for i in range(len(text)):
                start = text[: i + 1]
                place = places.get(start)
                if place is None:
                    code = ord(text[i])
                    place = places[start] = self._place(((code, code),))
                    if before is None:
                        first |= place
                    else:
                        self._connect(before, place)
                before = place
            if before is not None:
                last |= before
        return first, last, "" in words

    cdef tuple _add_loop(self, item, int depth):
        """One copy for each round that is counted.  A round that may be empty need not be."""
        least, most = item.least, item.most
        copies = most if most is not None else max(least, 1)
        if copies > MAX_POSITIONS:
            raise _Beyond
        first, last, before = 0, 0, 0
        nullable = least == 0
        for round_ in range(copies):
            more_first, more_last, empty = self._add(item.item, depth + 1)
            nullable = nullable or empty
            if round_:
                self._connect(before, more_first)
            else:
                first = more_first
            before = more_last
            if round_ + 1 >= least or empty:
                last |= more_last
        if most is None:
            self._connect(before, more_first)
        return first, last, nullable

    # -- deterministic states ---------------------------------------------------------------------------------------

    cdef list row(self, int state):
        """States by letter."""
        found = self.rows[state]
        if found is not None:
            return found
        places = self.sets[state]
        after = self.first
        if places is not None:
            after = 0
            while places:
                rest(1 + len(self.follow) // 64)
                low = places & -places
                after |= self.follow[low.bit_length() - 1]
                places ^= low
        cdef list row = [0] * len(self.masks)
        cdef int letter
        rest(len(row) * (1 + len(self.follow) // 64))
        if after.bit_count() > FEW_PLACES:
            for letter in range(len(row)):
                row[letter] = self._number(after & self.masks[letter])
        else:
            # Few places, of few letters mostly: sets of many places are slow to cut.
            while after:
                low = after & -after
                after ^= low
                holds = self.holds[low.bit_length() - 1]
                while holds:
                    bit = holds & -holds
                    holds ^= bit
                    letter = bit.bit_length() - 1
                    row[letter] = row[letter] | low
            for letter in range(len(row)):
                if row[letter]:
                    row[letter] = self._number(row[letter])
        self.rows[state] = row
        return row

    cdef object _number(self, places):
        if places & self.universal:
            return 1
        number = self.numbers.get(places)
        if number is None:
            number = self.numbers[places] = len(self.sets)
            self.sets.append(places)
            self.rows.append(None)
            self.kinds.push_back(OPEN)
            self.accepts.push_back((places & self.last) != 0)
        return number


cdef class _Whole:
    """Leaves under intersections, unions and complements.

    Of a state, only the leaves that still matter are kept, so that states that differ elsewhere are one.
    """

    cdef list leaves
    cdef dict numbers           # language -> leaf
    cdef list samples
    cdef dict letters_of
    # The formula, parts before what they are parts of: LEAF, NOT, ALL_OF or ANY_OF, leaf or first of its parts in
    # `parts`, how many; and what was found for the state that is looked at.
    cdef vector[int] operations, firsts, counts, parts, found
    cdef vector[char] matters   # does it matter in the state that is looked at
    cdef vector[int] state      # of each leaf

    def __init__(self, item, list samples):
        self.samples = samples
        self.letters_of = {}
        self.leaves = []
        self.numbers = {}
        self._formula(item, 0)
        self.found.resize(self.operations.size())
        self.matters.resize(self.operations.size())
        self.state.resize(len(self.leaves))

    cdef int _formula(self, item, int depth) except -1:
        """Append the formula of `item` to the arrays; returns its number."""
        cdef int operation = LEAF, first, count = 0
        cdef list below = []
        if depth > MAX_DEPTH:
            raise _Beyond
        kind = type(item)
        if kind is Not:
            operation = NOT
        elif kind is And:
            operation = ALL_OF
        elif kind is Alt and any([type(part) is And or type(part) is Not for part in item.items]):
            operation = ANY_OF
        if operation == LEAF:
            number = self.numbers.get(item)
            if number is None:
                number = self.numbers[item] = len(self.leaves)
                self.leaves.append(_Leaf(item, self.samples, self.letters_of))
            first = number
        else:
            for part in (item.item,) if operation == NOT else item.items:
                below.append(self._formula(part, depth + 1))
            first, count = <int>self.parts.size(), len(below)
            for number in below:
                self.parts.push_back(number)
        self.operations.push_back(operation)
        self.firsts.push_back(first)
        self.counts.push_back(count)
        return <int>self.operations.size() - 1

    cdef int _judge(self, tuple state) except -1:
        """DEAD or ALWAYS if what is settled decides, else OPEN."""
        cdef int i, k, one, result, settled
        for i in range(len(state)):
            self.state[i] = state[i]
        for i in range(<int>self.operations.size()):
            if self.operations[i] == LEAF:
                result = (<_Leaf>self.leaves[self.firsts[i]]).kinds[self.state[self.firsts[i]]]
            elif self.operations[i] == NOT:
                one = self.found[self.parts[self.firsts[i]]]
                result = OPEN if one == OPEN else 1 - one
            else:
                settled = DEAD if self.operations[i] == ALL_OF else ALWAYS
                result = 1 - settled
                for k in range(self.counts[i]):
                    one = self.found[self.parts[self.firsts[i] + k]]
                    if one == settled:
                        result = settled
                        break
                    if one == OPEN:
                        result = OPEN
            self.found[i] = result
        return self.found[self.operations.size() - 1]

    cdef list _mark(self):
        """Which leaves matter in the state that was judged last, and is open."""
        cdef int i, k, part
        cdef list used = [False] * len(self.leaves)
        for i in range(<int>self.operations.size()):
            self.matters[i] = False
        self.matters[self.operations.size() - 1] = True
        for i in range(<int>self.operations.size() - 1, -1, -1):
            if not self.matters[i]:
                continue
            if self.operations[i] == LEAF:
                used[self.firsts[i]] = True
                continue
            for k in range(self.counts[i]):
                part = self.parts[self.firsts[i] + k]
                if self.found[part] == OPEN:
                    self.matters[part] = True
        return used

    cdef list vital(self):
        """Leaves without which nothing is left."""
        cdef int whole = <int>self.operations.size() - 1, k, part
        cdef list found = []
        if self.operations[whole] == LEAF:
            found.append(self.firsts[whole])
        for k in range(self.counts[whole] if self.operations[whole] == ALL_OF else 0):
            part = self.parts[self.firsts[whole] + k]
            if self.operations[part] == LEAF:
                found.append(self.firsts[part])
        return found

    cdef bint accepts(self, tuple state) except -1:
        cdef int i, k
        cdef bint all_of, result
        for i in range(<int>self.operations.size()):
            if self.operations[i] == LEAF:
                result = (<_Leaf>self.leaves[self.firsts[i]]).accepts[state[self.firsts[i]]]
            elif self.operations[i] == NOT:
                result = not self.found[self.parts[self.firsts[i]]]
            else:
                all_of = self.operations[i] == ALL_OF
                result = all_of
                for k in range(self.counts[i]):
                    if (self.found[self.parts[self.firsts[i] + k]] != 0) != all_of:
                        result = not all_of
                        break
            self.found[i] = result
        return self.found[self.operations.size() - 1] != 0

    cdef tuple start(self):
        return (2,) * len(self.leaves)

    cdef tuple settle(self, tuple state, int *kind):
        """The state without what does not matter; `kind` is set."""
        kind[0] = self._judge(state)
        cdef Py_ssize_t i
        if kind[0] != OPEN or len(self.leaves) == 1:
            return state
        cdef list used = self._mark()
        if False not in used:
            return state
        # What is settled stays as it is; what is open and does not matter is as good as dead.
        return tuple([
            number if used[i] or number < 2 else 0 for i, number in enumerate(state)
        ])


def explore(item, tuple letters, int limit):
    """Reachable states of `item`: (table, accepting), state 0 the start, -1 where nothing is left; None if this is not
    for here; the number `limit` if there are more states than that.

    `letters` are disjoint sets of code points that `item` does not tell apart.
    """
    return _explored(item, letters, limit, False)


cdef object _explored(item, tuple letters, int limit, bint any_end):
    """`explore`; with `any_end` no further than to the first state that accepts, and then True."""
    cdef _Whole whole
    cdef _Leaf leaf
    cdef int kind = OPEN
    cdef int letter, width = len(letters)
    cdef Py_ssize_t position = 0
    try:
        whole = _Whole(item, [ranges[0][0] for ranges in letters])
    except _Beyond:
        return None
    if whole.operations.size() == 1:
        return _explore_leaf(whole.leaves[0], limit, any_end)
    cdef tuple state = whole.start()
    cdef dict numbers = {state: 0}
    cdef list queue = [state]
    cdef list table = [], accepting = [], rows, row
    cdef object always = None
    cdef list vital = whole.vital()
    cdef bint lost
    if any_end and whole.accepts(state):
        return True
    while position < len(queue):
        state = queue[position]
        position += 1
        rest(4 * width)
        if state is None:
            # Everything from here on.
            accepting.append(True)
            table.append([always] * width)
            continue
        accepting.append(whole.accepts(state))
        rows = []
        for number, leaf in zip(state, whole.leaves):
            rows.append(leaf.row(number))
        row = []
        seen = {}
        for letter in range(width):
            lost = False
            for number in vital:
                lost = lost or (<list>rows[number])[letter] == 0
            if lost:
                row.append(-1)
                continue
            raw = tuple([(<list>one)[letter] for one in rows])
            target = seen.get(raw)
            if target is None:
                settled = whole.settle(raw, &kind)
                if kind == DEAD:
                    target = -1
                elif kind == ALWAYS:
                    if any_end:
                        return True
                    if always is None:
                        always = len(queue)
                        queue.append(None)
                    target = always
                else:
                    target = numbers.get(settled)
                    if target is None:
                        if any_end and whole.accepts(settled):
                            return True
                        target = numbers[settled] = len(queue)
                        queue.append(settled)
                if len(queue) > limit:
                    return limit
                seen[raw] = target
            row.append(target)
        table.append(row)
    return table, accepting


cdef object _explore_leaf(_Leaf leaf, int limit, bint any_end):
    """`_explored`, where no leaf is combined with others."""
    cdef list table = [], accepting = [], row
    cdef list queue = [2]               # states of the leaf, by number
    cdef list numbers = [-1, -1, 0]     # state of the leaf -> number, if it has one
    cdef Py_ssize_t position = 0
    cdef int state, target
    if any_end and leaf.accepts[2]:
        return True
    while position < len(queue):
        state = queue[position]
        position += 1
        accepting.append(leaf.accepts[state] != 0)
        row = []
        rest(4 * len(leaf.masks))
        for target in leaf.row(state):
            while target >= len(numbers):
                numbers.append(-1)
            if target != 0 and numbers[target] < 0:
                if any_end and leaf.accepts[target]:
                    return True
                numbers[target] = len(queue)
                queue.append(target)
                if len(queue) > limit:
                    return limit
            row.append(numbers[target])
        table.append(row)
    return table, accepting


def inhabited(item, tuple letters, int limit):
    """Whether some string is in `item`; None if this is not for here, or more than `limit` states do not tell."""
    found = _explored(item, letters, limit, True)
    return None if found is None or type(found) is int else found is True
