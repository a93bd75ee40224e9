"""What a text has said so far to predicates, and where texts that they judge began.

A step of a text holds what is remembered there and never changes it, so going back, forks and trees of drafts are the
pointer that they are without it.  Predicates keep to that: a memory is never changed, there is another one.

A memory belongs to a place (`earley/marks.pyx`), as readings at one place are one to the parser.  If two of them
remember different things, no set of tokens would be right for both, so the text is refused by name
(`UnsupportedFeatureError`): nothing is guessed.

Read on: `judging.pyx` (reads on with it), `predicates.py` (what a predicate is), `different_items.pyx` (the first one).
"""

from kernels_core.different_items cimport DIFFERENT

from kernels_core.errors import PredicateError, UnsupportedFeatureError


cdef class Judged:
    """What predicates have to do with the texts of a rule."""


cdef class Judges:
    """The predicates of one grammar."""

    cdef Judged of(self, Machine machine, int32_t frame):
        """... and of them the one for the rule of `frame`, which has a mark."""
        cdef int32_t rule = -2 - machine.frame_limits[frame].left
        cdef Judged found = self.by_rule.get(rule)
        if found is not None:
            return found
        lowered = machine.tables.lowering.rules[rule]
        found = Judged.__new__(Judged)
        found.name, found.number, found.scopes = lowered.source, -1, []
        for note, predicate in lowered.marks:
            number = self.predicates.index(DIFFERENT if predicate is None else predicate)
            if note == "distinct" or note == "scope":
                found.scopes.append(number)
            elif note != "watched":
                found.number, found.predicate = number, self.predicates[number]
        found.restored = [number for number in found.scopes if number != found.number]
        self.by_rule[rule] = found      # last: what compares predicates may raise, or let another thread in
        return found

    cdef object fresh(self, Py_ssize_t number, str place):
        """What a predicate remembers where it has read nothing."""
        try:
            memory = self.predicates[number].start()
            if memory is None:
                raise TypeError("start returned None: it returns what is remembered at first, any value but None")
            return memory
        except Exception as error:
            raise PredicateError(place, None, f"{type(error).__name__}: {error}") from error

    cdef int refuse(self, Py_ssize_t position) except -1:
        """Give up a text behind so many bytes."""
        raise UnsupportedFeatureError(
            f"after {position} bytes it is ambiguous where texts of {self.names} begin or end, and what is remembered "
            f"of them depends on it; separate them by bytes that are in none of them")


cdef Judges judges_of(Machine machine):
    """Those of a machine, one for all on the same automata."""
    cdef Judges judges = machine.tables.judges
    if judges is None:
        judges = Judges.__new__(Judges)
        judges.by_rule, judges.predicates, names = {}, [DIFFERENT], []
        for rule in list(machine.tables.lowering.ir.rules.values()):
            for note, predicate in rule.notes:
                if note in ("scope", "judged") and predicate not in judges.predicates:
                    judges.predicates.append(predicate)
                if note in ("item", "judged"):
                    names.append(repr(rule.name))
                judges.watches = judges.watches or note == "watched"
        judges.names = ", ".join(sorted(names))
        machine.tables.judges = judges
    return judges


cdef class Remembered:
    """All of it, behind one byte of a text."""

    cdef Remembered after(self, Machine machine, const Marks* marks, dict results, Py_ssize_t position):
        """The same behind so many bytes, with which frames end and begin.  `results`: by frame, what is remembered
        behind the texts that end."""
        cdef Remembered other = Remembered.__new__(Remembered)
        cdef int32_t i
        other.at, other.begun = {}, self.begun.copy()
        for i in range(marks.staying_count):
            memories = self.behind(machine, &marks.staying[i], results)
            if not are_equal(machine, marks.staying[i].frame,
                             other.at.setdefault(marks.staying[i].frame, memories), memories):
                judges_of(machine).refuse(position)
        other._begin(machine, marks, position)
        return other

    cdef tuple behind(self, Machine machine, const Pair* pair, dict results):
        """What is remembered at a place by who came there by way of a text that ended, if of any."""
        cdef tuple memories
        if pair.other < 0:
            return self.at[pair.frame]
        memories = results[pair.other]
        for number in judges_of(machine).of(machine, pair.other).restored:
            memories = with_memory(memories, number, self.begun[pair.other][2][pair.frame][number])
        return memories

    cdef int _begin(self, Machine machine, const Marks* marks, Py_ssize_t position) except -1:
        """Note what is predicted behind so many bytes."""
        cdef Judges judges = judges_of(machine)
        cdef Judged judged
        cdef int32_t i, frame, place
        for i in range(marks.begun_count):
            frame, place = marks.begun[i].frame, marks.begun[i].other
            judged = judges.of(machine, frame)
            memories = self.at[place]
            for number in judged.scopes:
                memories = with_memory(memories, number, self.at[frame][number] if frame in self.at
                                       else judges.fresh(number, judged.name))
            if frame not in self.at:
                self.at[frame], self.begun[frame] = memories, (position, memories, {})
            elif not are_equal(machine, frame, self.at[frame], memories):
                judges.refuse(position)
            self.begun[frame][2][place] = self.at[place]
        return 0

    cdef Remembered outside(self):
        """The same behind a byte that leads out of all marked frames."""
        cdef Remembered other
        if not self.begun:
            return self
        other = Remembered.__new__(Remembered)
        other.begun, other.at = {}, {-1: self.at[-1]}
        return other


cdef Remembered at_the_start(Machine machine):
    """What is remembered before any text; None in grammars without marks."""
    cdef Remembered remembered
    cdef Judges judges
    if not machine.marked:
        return None
    judges = judges_of(machine)
    remembered = Remembered.__new__(Remembered)
    remembered.begun = {}
    remembered.at = {-1: (None, *[judges.fresh(number, "text") for number in range(1, len(judges.predicates))])}
    remembered._begin(machine, machine.first_marks, 0)
    return remembered


cdef tuple with_memory(tuple memories, Py_ssize_t number, memory):
    """`memories` with another one of predicate `number`."""
    return memories if memories[number] is memory else (*memories[:number], memory, *memories[number + 1:])


cdef bint are_equal(Machine machine, int32_t frame, one, other) except -1:
    """Whether two readings remember the same at `frame`, which has a mark; below 0: outside of all such."""
    try:
        return one is other or one == other
    except Exception as error:
        place = "text" if frame < 0 else judges_of(machine).of(machine, frame).name
        raise PredicateError(place, None, f"{type(error).__name__}: {error}") from error


cdef bint is_inside(Remembered remembered):
    """Whether a text is being read that is judged, or in which something is remembered anew."""
    return remembered is not None and len(remembered.begun) > 0
