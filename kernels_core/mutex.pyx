"""A lock that says who holds it and how often, in compiled code: no signal's exception comes between the two.

Read on: `locks.py`, whose `Lock` is used by `with`.
"""

from threading import Lock, get_ident


cdef class Mutex:
    """A lock; again: its holder may take it again, and gives it back as often."""

    cdef object _lock
    cdef object _owner  # a thread's number, None where nobody holds it
    cdef int _depth
    cdef bint _again

    def __init__(self, *, bint again=False):
        self._lock, self._owner, self._depth, self._again = Lock(), None, 0, again

    def acquire(self, double timeout=-1):
        """Take the lock; False where `timeout` seconds have passed first (-1: none)."""
        me = get_ident()
        if not (self._again and self._owner == me):
            # A signal's exception while this waits is raised before the lock is taken.
            if not self._lock.acquire(True, timeout):
                return False
            self._owner = me
        self._depth += 1
        return True

    def release(self):
        """Give the lock back; `RuntimeError` for a thread that does not hold it."""
        if not self.depth:
            raise RuntimeError("a lock is given back by the thread that holds it")
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._lock.release()

    @property
    def depth(self):
        """How often this thread holds the lock."""
        return self._depth if self._owner == get_ident() else 0

    def locked(self):
        """Whether anybody holds it."""
        return self._lock.locked()

    def __exit__(self, *_):
        self.release()

    def _at_fork_reinit(self):
        self._lock, self._owner, self._depth = Lock(), None, 0
