# distutils: language = c++
"""What follows an open spot, as far as that is known without entering rules.

Behind a name and its colon a few tokens go on for a byte or two, and the value that they would begin has to be made for
nothing else.  So it is left out of the set there: a *promise* stands for it, which knows what may come first, and behind
a first quote or bracket (`grammar/firsts.pxd`).  What is left is a set as any other, and the two are read side by side: a
*prospect*.  Whoever comes to a byte of which nothing is known has the spot settled as usual, and begins again there.

Promises are kept on a stack by whoever walks depth first.

Read on: `spots.pyx`, `../masks/direct.pyx` and `../masks/rests.pyx`, which walk.
"""

from kernels_core.earley.spots cimport Way, find_way, live_at, spot_of
from kernels_core.grammar.firsts cimport AT_FIRST, BEHIND_QUOTES, UNTOLD, Firsts, holds, read_on


cdef class Foresight:
    """Looks ahead in `machine`, whose lock is held by whoever asks."""

    def __init__(self, Machine machine not None):
        self.machine = machine

    cdef bint look(self, Spot& at, Prospect& ahead) except -1 nogil:
        """What follows an open spot is `ahead`, if there are promises; else the spot is settled, and there is none."""
        cdef SetRec* found
        ahead.first = <int32_t>self.promises.size()
        self.machine.kernel.clear()
        self.machine.kernel.push_back(at.item)
        found = self._close()
        ahead.past = <int32_t>self.promises.size()
        if ahead.past == ahead.first:
            at.set, at.open = found, False
            return False
        ahead.spot, ahead.alive = spot_of(found), found.count > 0
        return True

    cdef void forget(self, const Prospect& ahead) noexcept nogil:
        """Drop the promises of a prospect, and all that came later."""
        self.promises.resize(ahead.first)

    cdef int takes(self, const Prospect& at, uint8_t byte) except -1 nogil:
        """Whether `byte` may come."""
        cdef int answer = NO
        cdef const Firsts* told
        cdef Way way
        cdef int32_t i
        for i in range(at.first, at.past):
            told = self.machine.tables.told_of(self.promises[i].rule)
            if holds(told.sure[self.promises[i].read], byte):
                return YES
            if holds(told.maybe[self.promises[i].read], byte):
                answer = NOT_TOLD
        if at.alive and holds(live_at(self.machine, at.spot), byte):
            if not self.machine.tables.bounded:
                return YES
            find_way(self.machine, at.spot, byte, way)      # lengths have a say, too
            if way.alive:
                return YES
        return answer

    cdef int step(self, const Prospect& at, uint8_t byte, Prospect& to) except -1 nogil:
        """Where `byte`, which may come, leads `to`; the promises there are the last ones.  YES or NOT_TOLD."""
        cdef const Firsts* told
        cdef SetRec* returned
        cdef Promise promise
        cdef Way way
        cdef int32_t i, k
        cdef bint closed = False
        to.first = to.past = <int32_t>self.promises.size()
        to.alive = False
        self.kernel.clear()
        for i in range(at.first, at.past):
            promise = self.promises[i]
            told = self.machine.tables.told_of(promise.rule)
            if not holds(told.maybe[promise.read], byte):
                continue
            promise.read = read_on(promise.read, byte)
            if promise.read == UNTOLD or promise.read == BEHIND_QUOTES and told.beyond:
                self.forget(to)
                return NOT_TOLD
            if promise.read != BEHIND_QUOTES:
                self.promises.push_back(promise)
                continue
            closed = True           # an empty string: the rule has ended
            for k in range(self.machine.frames[promise.frame].count):
                self.kernel.push_back(self.machine.frames[promise.frame].returns[k])
        if at.alive and holds(live_at(self.machine, at.spot), byte):
            find_way(self.machine, at.spot, byte, way)
            to.alive, to.spot = way.alive, way.to
            if way.alive and (closed or way.to.open):
                closed = True
                if way.to.set == NULL:
                    self.kernel.push_back(way.to.item)
                else:
                    self.kernel.insert(self.kernel.end(), way.to.set.items, way.to.set.items + way.to.set.count)
        if closed:
            self.machine.kernel.assign(self.kernel.begin(), self.kernel.end())
            returned = self._close()
            to.spot, to.alive = spot_of(returned), returned.count > 0
        to.past = <int32_t>self.promises.size()
        return YES

    cdef SetRec* _close(self) except NULL nogil:
        """The closure of the machine's kernel but for rules that may wait, which become promises."""
        cdef size_t i
        cdef SetRec* found
        self.machine._check_budget()
        self.machine.left_out.clear()
        self.machine.patient = self.machine.memoize
        try:
            found = self.machine.close()
        finally:
            self.machine.patient = False
        for i in range(self.machine.left_out.size()):
            self.promises.push_back(
                Promise(self.machine.left_out[i].rule, self.machine.left_out[i].frame, AT_FIRST))
        self.machine.left_out.clear()
        return found
