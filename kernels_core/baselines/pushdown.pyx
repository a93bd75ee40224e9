# distutils: language = c++
"""Run the baseline `Options.parser = "pushdown"`: XGrammar's persistent stack tree (Dong et al. 2024, section 3.2).

The same machine as `earley.machine`, but every call pushes a frame of its own, with one return, where Earley's algorithm
merges all callers of a rule in one frame.  So an item is the top of one stack, frames are the nodes of a tree that
all stacks share, and an ambiguous grammar has as many items as it has stacks.  Left recursion would push for ever
and is refused (`refuse_left_recursion`); a call in last position replaces its frame instead of piling up.

What goes with it (`compiler`): token sets ahead of time, filtered by what can follow a rule (`masks.lookahead`), and
nothing remembered from one step to the next.
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport SCANNABLE, SPECIAL, TAIL, TOKENS, Tables
from kernels_core.earley.distinct cimport Item, add_new, forget
from kernels_core.earley.machine cimport IN_SET, Machine

from kernels_core.errors import BudgetExceededError, UnsupportedFeatureError


cdef class PushdownMachine(Machine):
    """`Machine` on unmerged stacks; more than `max_stacks` of them at one place raise `BudgetExceededError`."""

    cdef readonly size_t max_stacks
    cdef vector[Item] entry     # scratch

    def __init__(self, Tables tables, *, size_t max_bytes, str where="grammar", bint memoize=False,
                 size_t max_stacks=4096):
        self.max_stacks = max_stacks
        Machine.__init__(self, tables, max_bytes=max_bytes, where=where, memoize=memoize)

    cdef bint _predict(self) except -1 nogil:
        """Follow every call in `self.items`, one new stack each; leaves the set's items, unsorted, in `self.final`."""
        cdef size_t i = 0
        cdef int32_t k, frame, counter
        cdef Item item
        self.final.clear()
        forget(&self.met)
        while i < self.items.size():
            if self.items.size() > self.max_stacks:
                with gil:
                    raise BudgetExceededError("parser stacks", self.max_stacks, self.where)
            item = self.items[i]
            i += 1
            if self.tables.states[item.state].flags & (SCANNABLE | SPECIAL | TOKENS):
                self.final.push_back(item)
            for k in range(self.tables.states[item.state].call_first, self.tables.states[item.state].call_past):
                frame, counter = item.frame, item.counter
                if not self._enters(self.tables.calls[k].target, &counter):
                    continue
                if not self.tables.states[self.tables.calls[k].target].flags & TAIL:
                    self.entry.clear()
                    self.entry.push_back(Item(self.tables.calls[k].target, item.frame, counter))
                    frame = self.intern_frame(self.entry, -1, 0).number
                add_new(&self.met, self.items, IN_SET, self.tables.start[self.tables.calls[k].rule], frame, 0)
        return True


def refuse_left_recursion(tables):
    """`UnsupportedFeatureError`, at the rule, if some rule can call itself before a byte; all rules are entered."""
    starts = map(tables.begun, range(tables.rule_count))
    calls = [sorted({called for called, _ in tables.row(start)[3]}) for start in starts]
    done = [False] * len(calls)
    for root in range(len(calls)):
        path, on_path, todo = [], set(), [(root, 0)]
        while todo:
            rule, at = todo.pop()
            if at == 0:
                path.append(rule)
                on_path.add(rule)
            for at in range(at, len(calls[rule])):
                called = calls[rule][at]
                if called in on_path:
                    _refuse(tables.lowering, [*path[path.index(called):], called])
                if not done[called]:
                    todo.append((rule, at + 1))
                    todo.append((called, 0))
                    break
            else:
                done[rule] = True
                path.pop()
                on_path.discard(rule)


def _refuse(lowering, cycle):
    names = [lowering.rules[rule].source for rule in cycle]
    span = lowering.ir.rules[names[0]].span
    raise UnsupportedFeatureError(
        f"rule {names[0]!r} is left-recursive ({' -> '.join(names)}), which a pushdown parser cannot run; "
        f'use parser="earley"',
        lowering.ir.source,
        span.start if span is not None else None,
    )
