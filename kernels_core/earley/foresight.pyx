# distutils: language = c++
"""What follows an open spot, as far as that is known without entering rules.

Behind a name and its colon a few tokens go on for a byte or two, and the value that they would begin has to be made for
nothing else.  So it is left out of the set there: a *promise* stands for it, which knows what may come first, and behind
a first quote or bracket (`grammar/firsts.pxd`).  What is left is a set as any other, and the two are read side by side: a
*prospect*.  Whoever comes to a byte of which nothing is known has the spot settled as usual, and begins again there.

Promises are kept on a stack by whoever walks, depth first: what is behind `Prospect.past` may be dropped.

Read on: `spots.pyx`, `../masks/direct.pyx` and `../masks/rests.pyx`, which walk.
"""

from kernels_core.earley.machine cimport Item, SetRec
from kernels_core.earley.spots cimport Way, find_way, live_at, settle, spot_of
from kernels_core.grammar.firsts cimport AT_FIRST, BEHIND_QUOTES, UNTOLD, Firsts, holds, read_on
from kernels_core.laboratory cimport DEFERRED_PREDICTION, has


cdef bint look(Machine machine, vector[Promise]& promises, Spot& at, Prospect& ahead) except -1 nogil:
    """What follows an open spot is `ahead`, if there are promises; else the spot is settled, and there is none.

    The caller holds the machine's lock, here and below.
    """
    cdef SetRec* found
    if not has(DEFERRED_PREDICTION):
        settle(machine, at)
        return False
    ahead.first = <int32_t>promises.size()
    machine.kernel.clear()
    machine.kernel.push_back(at.item)
    found = _close(machine, promises)
    ahead.past = <int32_t>promises.size()
    if ahead.past == ahead.first:
        at.set, at.open = found, False
        return False
    ahead.spot, ahead.alive = spot_of(found), found.count > 0
    return True


cdef int takes(Machine machine, const vector[Promise]& promises, const Prospect& at, uint8_t byte) except -1 nogil:
    """Whether `byte` may come: an `Answer`."""
    cdef int answer = NO
    cdef const Firsts* told
    cdef Way way
    cdef int32_t i
    for i in range(at.first, at.past):
        told = machine.tables.told_of(promises[i].rule)
        if holds(told.sure[promises[i].read], byte):
            return YES
        if holds(told.maybe[promises[i].read], byte):
            answer = NOT_TOLD
    if at.alive and holds(live_at(machine, at.spot), byte):
        if not machine.tables.bounded:
            return YES
        find_way(machine, at.spot, byte, way)       # lengths have a say, too
        if way.alive:
            return YES
    return answer


cdef int read(Machine machine, vector[Promise]& promises, const Prospect& at, uint8_t byte,
              Prospect& to) except -1 nogil:
    """Where `byte`, which may come, leads `to`; the promises there are the last ones.  YES or NOT_TOLD."""
    cdef const Firsts* told
    cdef SetRec* closed
    cdef Promise promise
    cdef Way way
    cdef int32_t i, k
    cdef vector[Item] kernel        # of what has to be closed
    to.first = to.past = <int32_t>promises.size()
    to.alive = False
    for i in range(at.first, at.past):
        promise = promises[i]
        told = machine.tables.told_of(promise.rule)
        if not holds(told.maybe[promise.read], byte):
            continue
        promise.read = read_on(promise.read, byte)
        if promise.read == UNTOLD or promise.read == BEHIND_QUOTES and told.beyond:
            return NOT_TOLD
        if promise.read != BEHIND_QUOTES:
            promises.push_back(promise)
            continue
        for k in range(machine.frames[promise.frame].count):        # an empty string: the rule has ended
            kernel.push_back(machine.frames[promise.frame].returns[k])
    if at.alive and holds(live_at(machine, at.spot), byte):
        find_way(machine, at.spot, byte, way)
        to.alive, to.spot = way.alive, way.to
        if way.alive and way.to.set == NULL and (way.to.open or not kernel.empty()):
            kernel.push_back(way.to.item)
        elif way.alive and not kernel.empty():
            kernel.insert(kernel.end(), way.to.set.items, way.to.set.items + way.to.set.count)
    if not kernel.empty():
        machine.kernel.assign(kernel.begin(), kernel.end())
        closed = _close(machine, promises)
        to.spot, to.alive = spot_of(closed), closed.count > 0
    to.past = <int32_t>promises.size()
    return YES


cdef SetRec* _close(Machine machine, vector[Promise]& promises) except NULL nogil:
    """The closure of the machine's kernel but for rules that may wait, which become promises."""
    cdef size_t i
    cdef SetRec* found
    machine._check_budget()
    machine.left_out.clear()
    machine.patient = machine.memoize
    try:
        found = machine.close()
    finally:
        machine.patient = False
    for i in range(machine.left_out.size()):
        promises.push_back(Promise(machine.left_out[i].rule, machine.left_out[i].frame, AT_FIRST))
    machine.left_out.clear()
    return found
