# distutils: language = c++
"""One clock and one way to call off for everything that a request makes the engine do.

A `TimeLimit` runs in the thread that entered it, from the first byte of a request to the last mask.  Every loop that can
grow calls `breathe` (from C, with or without the GIL) or `look` (from Python) with a measure of what it did; after some
work the clocks of the thread are looked at, and the first that has run out raises: `BudgetExceededError` when its time
has passed, `OperationCancelledError` when its `CancelToken` was used.  Limits nest, and each of them holds.

Time is processor time of the thread: what a request costs, whatever else the machine does and whoever holds a lock.
Collections of cyclic garbage do not count: they walk all that the process holds, in the thread that happens to begin one.
A thread spends no more of it than passes, so a steady clock, which is cheaper to read, says when it has to be read.
Reading it takes as long as many a mask, so the first tenth of a millisecond is not counted.

Whoever breathes for long in the main thread also asks for Ctrl-C, with or without the GIL: `KeyboardInterrupt` is raised
where a time limit would be, and everything is as it was.  Other handlers of signals run when the call has returned.

Decision: ../docs/decisions/0012-one-clock-and-budgets.md.  Read on: `options.py` (`max_compile_ms`, `max_fill_ms`).
"""

import gc
import signal
import threading

cimport cython

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF

from kernels_core.errors import BudgetExceededError, OperationCancelledError

# Of processor time, for reading one grammar outside any other limit.
READING_MS = 5_000

cdef extern from *:
    """
    #include <time.h>
    // Of each thread: its innermost clock, the work left before clocks are looked at, and when signals were.
    static thread_local void* mc_innermost = NULL;
    static thread_local int mc_left = 0;
    static thread_local long long mc_yielded = 0;
    static thread_local long long mc_heard = 0;      // when Ctrl-C was asked for
    static thread_local int mc_thread = 0;           // 1: the main thread, 2: another one, 0: not asked yet
    static inline void** mc_clock() { return &mc_innermost; }
    static inline int* mc_work() { return &mc_left; }
    static inline long long* mc_last() { return &mc_yielded; }
    static inline long long* mc_listened() { return &mc_heard; }
    static inline int* mc_kind() { return &mc_thread; }
    #ifdef _WIN32
    #define NOMINMAX
    #include <windows.h>
    static inline long long mc_steady() { return 1000000LL * (long long)GetTickCount64(); }
    static inline long long mc_processor() {
        FILETIME made, ended, kernel, user;
        GetThreadTimes(GetCurrentThread(), &made, &ended, &kernel, &user);
        const long long high = (long long)kernel.dwHighDateTime + user.dwHighDateTime;
        return 100LL * ((high << 32) + kernel.dwLowDateTime + user.dwLowDateTime);
    }
    #else
    static inline long long mc_read(clockid_t of) {
        struct timespec now;
        clock_gettime(of, &now);
        return 1000000000LL * now.tv_sec + now.tv_nsec;
    }
    static inline long long mc_steady() { return mc_read(CLOCK_MONOTONIC); }
    static inline long long mc_processor() { return mc_read(CLOCK_THREAD_CPUTIME_ID); }
    #endif
    // Of each thread: its processor time when a collection began, and that of all collections so far.
    static thread_local long long mc_begun = 0;
    static thread_local long long mc_collected = 0;
    static inline void mc_begin() { mc_begun = mc_processor(); }
    static inline void mc_end() { mc_collected += mc_processor() - mc_begun; }
    static inline long long mc_spent() { return mc_processor() - mc_collected; }
    """
    void** mc_clock() noexcept nogil
    int* mc_work() noexcept nogil
    long long* mc_last() noexcept nogil
    long long* mc_listened() noexcept nogil
    int* mc_kind() noexcept nogil
    long long mc_steady() noexcept nogil
    void mc_begin() noexcept nogil
    void mc_end() noexcept nogil
    long long mc_spent() noexcept nogil

cdef extern from "Python.h":
    int PyOS_InterruptOccurred()

cdef int32_t BREATH = 512               # units of work (some 50 ns each) between two looks at the clocks
cdef int64_t SHORT = 100_000            # nanoseconds: what takes less, as most masks do, never reads processor time
cdef int64_t TURN = 20_000_000          # nanoseconds that others wait for the GIL at most, and signals
cdef int64_t ANY_MS = <int64_t>1 << 42  # more than a century: what is longer is no longer, in nanoseconds of 64 bits
cdef int64_t PATIENCE = 100_000_000     # nanoseconds that Ctrl-C waits at most


cdef class CancelToken:
    """Calls off compiles and fills that it was given to: they raise `OperationCancelledError`.  For any thread."""

    def cancel(self):
        """Call off whatever is under way or will begin."""
        self.flag = 1

    @property
    def cancelled(self):
        return self.flag != 0

    def check(self):
        """`OperationCancelledError` if called off."""
        if self.flag:
            raise OperationCancelledError("called off")

    def __repr__(self):
        return f"<CancelToken{', called off' if self.flag else ''}>"


cdef void start_clock(Clock* clock, int64_t limit_ms, const int* cancelled, PyObject* where) noexcept nogil:
    """Let `clock`, which stays where it is until `stop_clock`, run in this thread."""
    clock.outer, clock.cancelled, clock.where = <Clock*>mc_clock()[0], cancelled, where
    clock.limit_ms, clock.looks, clock.began, clock.due = min(limit_ms, ANY_MS), -1, -1, -1
    mc_clock()[0] = clock
    mc_work()[0] = 0                # the first breath looks, so that what is called off already does not begin


cdef void stop_clock(Clock* clock) noexcept nogil:
    """`clock` is this thread's innermost no longer."""
    mc_clock()[0] = clock.outer


cdef int breathe(int32_t work) except -1 nogil:
    """Count `work` units of some 50 ns; now and then look at the clocks, which may raise.  Keeps the GIL if it has it."""
    cdef int* left = mc_work()
    left[0] -= work
    if left[0] > 0:
        return 0
    left[0] = BREATH
    return _look(<Clock*>mc_clock()[0])


cdef int rest(int32_t work) except -1:
    """`breathe` for long loops with the GIL, where nothing is half done: lets other threads and signal handlers run."""
    cdef int64_t now
    cdef int* left = mc_work()
    left[0] -= work
    if left[0] > 0:
        return 0
    left[0] = BREATH
    _look(<Clock*>mc_clock()[0])
    now = mc_steady()
    if now - mc_last()[0] > TURN:
        mc_last()[0] = now
        PyErr_CheckSignals()
        with nogil:
            pass
    return 0


cdef int _look(Clock* clock) except -1 nogil:
    """Raise for the first of `clock` and those around it that has run out, and for Ctrl-C."""
    cdef int64_t now = mc_steady(), spent
    if now - mc_listened()[0] > PATIENCE and mc_kind()[0] != 2:
        mc_listened()[0] = now
        _listen()
    while clock != NULL:
        if clock.cancelled != NULL and clock.cancelled[0]:
            return _call_off(clock)
        if clock.looks >= 0:
            mc_work()[0] = 0
            if clock.looks == 0:
                return _run_out(clock)
            clock.looks -= 1
        if clock.limit_ms:
            if clock.due < 0:
                clock.due = now + SHORT
            elif now >= clock.due:
                spent = mc_spent()
                if clock.began < 0:
                    clock.began = spent
                spent -= clock.began
                if spent >= 1_000_000 * clock.limit_ms:
                    return _run_out(clock)
                clock.due = now + 1_000_000 * clock.limit_ms - spent
        clock = clock.outer
    return 0


cdef int _listen() except -1 with gil:
    """Raise for Ctrl-C, where that is what it does.  Only the main thread is ever interrupted."""
    if mc_kind()[0] == 0:
        mc_kind()[0] = 1 if threading.current_thread() is threading.main_thread() else 2
    if mc_kind()[0] == 1 and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        if PyOS_InterruptOccurred():
            raise KeyboardInterrupt
    return 0


cdef int _run_out(Clock* clock) except -1 with gil:
    raise BudgetExceededError("milliseconds", clock.limit_ms, _purpose(clock))


cdef int _call_off(Clock* clock) except -1 with gil:
    raise OperationCancelledError(f"{_purpose(clock)}: called off")


cdef object _purpose(Clock* clock):
    return "a request" if clock.where == NULL else <object>clock.where


def _collects(phase, info):
    if info["generation"]:                      # the youngest are collected often, and in microseconds
        if phase == "start":
            mc_begin()
        else:
            mc_end()


gc.callbacks.append(_collects)


def look(int work=1):
    """Count `work` units; now and then look at the clocks of this thread, which may raise."""
    rest(work)


def is_limited():
    """Whether a limit runs in this thread."""
    return mc_clock()[0] != NULL


@cython.final
cdef class TimeLimit:
    """TimeLimit(limit_ms, *, cancel=None, where="a request", looks=-1)

    `with TimeLimit(500, cancel=token): ...`: what the engine does inside, in this thread, takes at most `limit_ms`
    milliseconds of processor time (0: any time) and may be called off with `cancel`.  Raises `BudgetExceededError`,
    `OperationCancelledError`; `where` says in them what the time was for.  An object is entered once.

    looks: for tests: how often the clock may be looked at, which then happens at every opportunity.
    """

    cdef Clock clock
    cdef CancelToken cancel
    cdef str where
    cdef int64_t limit_ms, looks
    cdef bint entered

    def __init__(self, int64_t limit_ms, *, CancelToken cancel=None, str where="a request", int64_t looks=-1):
        if limit_ms < 0:
            raise ValueError(f"a time limit must not be negative, got {limit_ms}")
        self.limit_ms, self.cancel, self.where, self.looks = limit_ms, cancel, where, looks

    def __enter__(self):
        cdef const int* cancelled = NULL
        if self.entered:
            raise RuntimeError("a time limit is entered once")
        if self.cancel is not None:
            if self.cancel.flag:
                raise OperationCancelledError(f"{self.where}: called off")
            cancelled = &self.cancel.flag
        self.entered = True
        Py_INCREF(self)             # the thread's list of clocks points here
        start_clock(&self.clock, self.limit_ms, cancelled, <PyObject*>self.where)
        self.clock.looks = self.looks
        return self

    def __exit__(self, *error):
        if mc_clock()[0] != &self.clock:
            raise RuntimeError("time limits are left in the thread that entered them, the last one first")
        stop_clock(&self.clock)
        Py_DECREF(self)

    def __repr__(self):
        return f"<TimeLimit of {self.limit_ms:,} ms for {self.where}>"
