"""Answers that one process remembers for all grammars, bounded by their number and by what they weigh."""

__all__ = ["Remembered"]


cdef class Remembered:
    """At most `most` answers that weigh at most `most_weight` together, in units of whoever asks.

    When there are more, all are forgotten: what is asked again is soon there again, and no order has to be kept.  An
    answer that weighs more than a quarter of everything is not kept.  Answers are never None.
    """

    def __init__(self, Py_ssize_t most, long long most_weight):
        self.found = {}
        self.most, self.most_weight = most, most_weight

    def __len__(self):
        return len(self.found)

    cdef object get(self, object key):
        return self.found.get(key)

    cdef int put(self, object key, object value, long long weight) except -1:
        if weight > self.most_weight // 4:
            return 0
        if len(self.found) >= self.most or self.weight + weight > self.most_weight:
            self.found = {}
            self.weight = 0
        self.found[key] = value
        self.weight += weight
        return 0

    def known(self, key):
        """The answer to `key`, or None."""
        return self.found.get(key)

    def keep(self, key, value, weight):
        """Remember `value`; returns it."""
        self.put(key, value, weight)
        return value
