"""The laboratory: take one mechanism out of the engine, to see what it is worth and that nothing depends on it.

None of this is for users, whose choices are `Options`.  A mechanism that is left out is left out of the whole process,
so nothing else may compile or make masks meanwhile, and what was made before stays as it is: begin with a new
`GrammarCompiler`, and with a new vocabulary where what a vocabulary keeps matters.

The masks are the same with any mechanism left out (`tests/engine/test_laboratory.py`); `experiments/leave_one_out.py`
says what each takes and buys.  A new mechanism gets a name here, a `has(...)` where it is used, and a line in
`experiments/mechanisms.py`.
"""

from contextlib import contextmanager

NAMES = (
    "self-loops",
    "row unions",
    "byte-class trie",
    "whole subtrees",
    "string bodies",
    "kept token sets",
    "excluded words",
    "FOLLOW bytes",
    "reference states",
    "compact bodies",
    "text copies",
    "shared size estimates",
    "spare memory",
    "lazy documents",
    "quick reader",
    "deferrable calls",
    "memoised languages",
)
"""The mechanisms that can be left out, in the order of `Mechanism`."""

if len(NAMES) != MECHANISMS:
    raise ImportError("kernels_core.laboratory: a mechanism has no name")


cdef int _number(str name) except -1:
    if name not in NAMES:
        raise ValueError(f"no mechanism {name!r}; known: {', '.join(NAMES)}")
    return <int>NAMES.index(name)


def has_mechanism(str name not None):
    """Whether the engine has a mechanism now, asked where it is about to be used."""
    return bool(has(_number(name)))


@contextmanager
def without(*names):
    """Leave mechanisms out of the engine, in the whole process, while the `with` block runs."""
    global left_out
    cdef uint64_t before = left_out
    cdef uint64_t more = 0
    for name in names:
        more |= <uint64_t>1 << _number(name)
    left_out = before | more
    try:
        yield
    finally:
        left_out = before


@contextmanager
def with_thresholds(**values):
    """Set thresholds (`kernels_core.masks.thresholds.TABLE`) in the whole process while the `with` block runs."""
    from kernels_core.masks.thresholds import read_threshold, set_threshold
    cdef dict before = {name: read_threshold(name) for name in values}
    try:
        for name, value in values.items():
            set_threshold(name, value)
        yield
    finally:
        for name, value in before.items():
            set_threshold(name, value)


@contextmanager
def watch():
    """Count how often each mechanism is about to be used; gives a dictionary by name, complete when the block ends."""
    global watching
    cdef int i
    cdef dict found = {}
    for i in range(MECHANISMS):
        uses[i] = 0
    watching = True
    try:
        yield found
    finally:
        watching = False
        for i in range(MECHANISMS):
            found[NAMES[i]] = uses[i]
