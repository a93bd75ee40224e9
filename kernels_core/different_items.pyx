"""The predicate of `distinct` rules: no item is equal to one before it, as JSON values.

Values lie in one table that grows at its end: a fork that reads something else behind the same beginning gets a copy of
the beginning.

For a mask, what of an item was read says which values it may yet have: of a string, those of the items that begin so.
So hardly any token has to be looked at, and these are compared by the value that they complete.

Read on: `judging.pyx` (asks), `json_values.pyx` (values).
"""

from kernels_core.clock cimport rest

cdef Different DIFFERENT = Different.__new__(Different)


cdef class Seen:
    """The items of one text of a `distinct` rule."""

    cdef bint has(self, bytes value) except -1:
        """Whether an item has this value."""
        number = self.values.get(value)
        return value == self.last or number is not None and number < self.count

    cdef Seen whole(self):
        cdef Seen other
        if self.last is None:
            return self
        if self.all_values is None:
            other = Seen.__new__(Seen)
            other.values, other.count = self.values, self.count + 1
            if len(self.values) > self.count:
                other.values = {value: number for value, number in self.values.items() if number < self.count}
            other.values[self.last] = self.count
            self.all_values = other
        return self.all_values

    cdef Seen with_item(self, bytes value):
        """The same behind an item with this value, which may yet become a longer one."""
        cdef Seen before = self.whole(), other = Seen.__new__(Seen)
        other.values, other.count, other.last = before.values, before.count, value
        return other

    cdef JsonReader reader_behind(self, bytes text):
        """One that has read `text` of an item, for copies to read on: what is read already is not read again."""
        cdef JsonReader reader = self.reader
        cdef bytes begun = self.begun
        if reader is None or not text.startswith(begun):
            reader, begun = JsonReader.__new__(JsonReader), b""
        if len(begun) < len(text):
            reader = reader.copy()
            reader.feed(text[len(begun):])
        self.begun, self.reader = text, reader
        return reader

    def __eq__(self, other):
        cdef Seen one = self.whole(), two
        if not isinstance(other, Seen):     # outside of all such rules there is none
            return False
        two = (<Seen>other).whole()
        return one.count == two.count and all([two.has(value) for value in one.values if one.has(value)])

    def __hash__(self):
        raise TypeError("what was seen is compared, and no key")


cdef class Different:
    """A `Predicate` that the engine brings along.  Text that is no JSON equals nothing."""

    def start(self):
        cdef Seen nothing = Seen.__new__(Seen)
        nothing.values = {}
        return nothing

    def judge(self, Seen memory not None, str rule, bytes text not None):
        cdef bytes value = memory.reader_behind(text).finished()
        if value is None:
            return memory
        return None if memory.has(value) else memory.with_item(value)

    cdef list refused(self, Seen seen, bytes so_far, Endings endings):
        """Of the texts of `endings`, behind `so_far`, those that are refused."""
        cdef JsonReader reader, longer
        cdef bytes string, value, text
        cdef list found = []
        if not seen.whole().count:
            return found
        reader = seen.reader_behind(so_far)
        seen = seen.whole()
        if reader.broken:
            return found
        texts = endings.tokens
        string = reader.string_so_far()
        if not reader.kind():
            by_value = endings.by_value()
            texts = [text for value in by_value if value is not None and seen.has(value) for text in by_value[value]]
        elif string is not None:
            # As it is written without a backslash, the rest of a string is its characters.
            texts = [value[len(string):] + b'"' for value in seen.values if value.startswith(string)] + endings.read_in_full
        elif not any([value[0] == reader.kind() for value in seen.values]):
            return found
        for text in texts:
            rest(10)
            if text not in endings.tokens:
                continue
            longer = reader.copy()
            longer.feed(text)
            value = longer.finished()
            if value is not None and seen.has(value):
                found.append(text)
        return found
