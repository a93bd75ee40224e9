# distutils: language = c++
"""Deterministic machines, which read letters, and whose states are made when they are asked for.

- `Places`: a regular expression has one state for each place where it mentions a character (V. M. Glushkov, Russian
  Math. Surveys 16, 1961): reading a letter leads from a set of places to those that may follow and hold the letter.
  Sets are integers, and one step is an "or" and an "and".  Intersections and complements inside a sequence are
  determinised first: their states are places.
- `Stepped`: what says by itself where a letter leads, such as a language by its derivatives, for languages that are no
  regular expressions (`Unfolding`) or have very many places.
- `Both` and `Opposite`: intersections and complements of machines, and unions by these.  States are tuples, so nothing
  is built for what cannot be reached, and a tuple is dropped as soon as the parts that are settled settle the whole.

Read on: `dfa.py` and `json_schema/number_text.py` (who call this), `languages.pyx`.
"""

from functools import partial
from operator import attrgetter

from libcpp.vector cimport vector

from kernels_core.clock cimport rest
from kernels_core.grammar.ranges cimport contains

from kernels_core.grammar.regular.dfa_tables import smallest
from kernels_core.grammar.regular.languages import (
    ALL, NOTHING, Alt, And, Cat, Chars, Loop, Not, TooManyStates, Words, derivative,
)

# Places of one machine, and depth of what is followed by recursion.
cdef int MAX_POSITIONS = 8_000
cdef int MAX_DEPTH = 150
cdef int DEAD = 0, ALWAYS = 1, START = 2
# Of one table, states times letters: what is done to a whole table in C looks at no clock.
cdef int MOST_CELLS = 16_000_000
cdef object ONE = 1         # shifted as a Python integer, of any size


class _Beyond(Exception):
    """Not for `Places`."""


cdef class Machine:
    """From state DEAD nothing is accepted, from ALWAYS everything; START and what was met behind it are all others."""

    cdef int width              # how many letters there are
    cdef dict numbers           # what a state stands for -> state
    cdef list meanings          # the way back
    cdef list rows              # state -> states by letter, or None
    cdef vector[char] accepting

    cdef int begin(self, int width, start, bint accepts) except -1:
        """The beginning of every kind."""
        self.width = width
        self.numbers, self.meanings = {start: START}, [None, None, start]
        self.rows = [[DEAD] * width, [ALWAYS] * width, None]
        for accepted in (False, True, accepts):
            self.accepting.push_back(accepted)
        return 0

    cdef int number(self, meaning) except -1:
        """The state that stands for this."""
        found = self.numbers.get(meaning)
        if found is None:
            found = self.numbers[meaning] = len(self.rows)
            self.meanings.append(meaning)
            self.rows.append(None)
            self.accepting.push_back(self.ends(meaning))
        return found

    cdef list row(self, int state):
        """States by letter."""
        found = self.rows[state]
        if found is None:
            found = self.rows[state] = self.step(self.meanings[state])
        return <list>found

    cdef bint accepts(self, int state) except -1:
        return self.accepting[state]

    cdef bint ends(self, meaning) except -1:
        """Whether a text may end where this is met."""
        raise NotImplementedError

    cdef list step(self, meaning):
        """States by letter behind this."""
        raise NotImplementedError


cdef class Places(Machine):
    """A regular expression; a state stands for a set of places, the start for none yet."""

    cdef list follow            # place -> places behind it, as bits
    cdef list masks             # letter -> places that hold it
    cdef object first
    cdef object last            # places where the text may end
    cdef object universal       # places from which every text goes on and ends
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
        every = (ONE << len(samples)) - 1
        endless = 0             # places that hold every letter, for as long as one likes
        for place in range(count):
            rest(len(samples))
            holds = self.holds[place]
            bit = ONE << place
            if holds == every and self.follow[place] & last & bit:
                endless |= bit
            while holds:
                low = holds & -holds
                letter = low.bit_length() - 1
                (<bytearray>bits[letter])[place >> 3] |= 1 << (place & 7)
                holds ^= low
        self.masks = [int.from_bytes(one, "little") for one in bits]
        self.universal = 0
        for place in range(count if endless else 0):
            if self.follow[place] & endless and last & (ONE << place):
                self.universal |= ONE << place
        self.last = last
        self.first = first
        self.begin(len(samples), None, nullable)

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
            try:
                made = _explored(_machine(item, self.samples, self.letters_of, {}, 0), MAX_POSITIONS, False)
            except TooManyStates:
                raise _Beyond from None
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
        cdef dict places = {}       # by what was read
        first, last = 0, 0
        for text in sorted(words):
            before = 0
            for i in range(len(text)):
                place = places.get(text[: i + 1])
                if place is None:
                    code = ord(text[i])
                    place = places[text[: i + 1]] = self._place(((code, code),))
                    self._connect(before, place)
                    first |= place if i == 0 else 0
                before = place
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

    cdef bint ends(self, places) except -1:
        return (places & self.last) != 0

    cdef list step(self, places):
        after = self.first
        if places is not None:
            after = 0
            while places:
                rest(1 + len(self.follow) // 64)
                low = places & -places
                after |= self.follow[low.bit_length() - 1]
                places ^= low
        rest(self.width * (1 + len(self.follow) // 64))
        return [self.state_of(after & mask) for mask in self.masks]

    cdef int state_of(self, places) except -1:
        if not places:
            return DEAD
        return ALWAYS if places & self.universal else self.number(places)


cdef class Stepped(Machine):
    """`step(meaning, letter)` says where a letter leads: None where nothing is accepted, True where everything is.

    `accepts(meaning)`: whether a text may end there.  `width`: how many letters there are.
    """

    cdef object steps, may_end

    def __init__(self, start, step, accepts, int width):
        self.steps, self.may_end = step, accepts
        self.begin(width, start, accepts(start))

    cdef bint ends(self, meaning) except -1:
        return self.may_end(meaning)

    cdef list step(self, meaning):
        cdef list row = []
        cdef int letter
        rest(40 * self.width)
        for letter in range(self.width):
            target = self.steps(meaning, letter)
            row.append(DEAD if target is None else ALWAYS if target is True else self.number(target))
        return row


def _derived(list samples, language, int letter):
    """A step of a language by its derivatives."""
    found = derivative(language, samples[letter])
    return None if found == NOTHING else True if found == ALL else found


cdef class Both(Machine):
    """What all of `parts` accept, which have the same letters; a state stands for a state of each."""

    cdef list parts

    def __init__(self, list parts not None):
        cdef Machine first = parts[0]
        self.parts = parts
        start = (START,) * len(parts)
        self.begin(first.width, start, self.ends(start))

    cdef bint ends(self, states) except -1:
        cdef Machine part
        for part, state in zip(self.parts, states):
            if not part.accepts(state):
                return False
        return True

    cdef list step(self, states):
        cdef Machine part
        cdef list row = [], rows = []
        rest(4 * self.width)
        for part, state in zip(self.parts, states):
            rows.append(part.row(state))
        for targets in zip(*rows):
            found = self.numbers.get(targets)
            if found is None:
                found = DEAD if DEAD in targets else self.number(targets) if max(targets) > ALWAYS else ALWAYS
            row.append(found)
        return row


cdef class Opposite(Machine):
    """What `inner` does not accept, in its states."""

    cdef Machine inner

    def __init__(self, Machine inner):
        self.inner = inner
        self.width = inner.width
        self.rows = []

    cdef list row(self, int state):
        while state >= len(self.rows):
            self.rows.append(None)
        found = self.rows[state]
        if found is None:
            found = self.rows[state] = [_opposite(target) for target in self.inner.row(_opposite(state))]
        return <list>found

    cdef bint accepts(self, int state) except -1:
        return not self.inner.accepts(_opposite(state))


cdef inline int _opposite(int state) noexcept:
    return state if state >= START else ALWAYS - state


cdef Machine _machine(item, list samples, dict letters_of, dict known, int depth):
    """What reads a language; `known`: by those that were met before."""
    cdef Machine machine = known.get(item)
    if machine is not None:
        return machine
    kind = type(item)
    if depth <= MAX_DEPTH:
        if kind is Not:
            machine = Opposite(_machine(item.item, samples, letters_of, known, depth + 1))
        elif kind is And:
            machine = Both([_machine(part, samples, letters_of, known, depth + 1) for part in item.items])
        elif kind is Alt and any([type(part) is And or type(part) is Not for part in item.items]):
            machine = Opposite(
                Both([Opposite(_machine(part, samples, letters_of, known, depth + 1)) for part in item.items]))
        else:
            try:
                machine = Places(item, samples, letters_of)
            except _Beyond:
                pass
    if machine is None:
        machine = Stepped(item, partial(_derived, samples), attrgetter("nullable"), len(samples))
    known[item] = machine
    return machine


def reader(item, tuple letters):
    """What reads a language; `letters` are disjoint sets of code points that `item` does not tell apart."""
    return _machine(item, [ranges[0][0] for ranges in letters], {}, {}, 0)


def explore(Machine machine not None, int limit):
    """Reachable states: (table, accepting), state 0 the start, -1 where nothing is left.  Raises `TooManyStates`."""
    return _explored(machine, limit, False)


def inhabited(Machine machine not None, int limit):
    """Whether some text is accepted.  Raises `TooManyStates` where so many states do not tell."""
    return _explored(machine, limit, True)


cdef object _explored(Machine machine, int limit, bint any_end):
    """(table, accepting); with `any_end` whether there is an accepting state, which ends the search."""
    cdef list table = [], accepting = [], row
    cdef list queue = [START]           # states of the machine, by number
    cdef list numbers = [-1, -1, 0]     # state of the machine -> number, if it has one
    cdef Py_ssize_t position = 0
    cdef int state, target
    limit = min(limit, MOST_CELLS // max(machine.width, 1))
    if any_end and machine.accepts(START):
        return True
    while position < len(queue):
        state = queue[position]
        position += 1
        accepting.append(machine.accepts(state))
        row = []
        rest(4 * machine.width)
        for target in machine.row(state):
            while target >= len(numbers):
                numbers.append(-1)
            if target != DEAD and numbers[target] < 0:
                if any_end and machine.accepts(target):
                    return True
                numbers[target] = len(queue)
                queue.append(target)
                if len(queue) > limit:
                    raise TooManyStates(limit)
            row.append(numbers[target])
        table.append(row)
    return False if any_end else (table, accepting)
