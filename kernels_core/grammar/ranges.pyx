"""Set operations on sorted tuples of inclusive ranges, which every pattern and every string of a schema is made of.

`Ranges` are pairs `(first, last)`: sorted, disjoint, not adjacent.  `charset.py` says what the sets are for and names
the usual ones; code takes these functions from there.
"""

cdef long MAX_CODE_POINT = 0x10FFFF
cdef long FIRST_SURROGATE = 0xD800, LAST_SURROGATE = 0xDFFF


cdef tuple _merged(list pairs):
    """`pairs`, which are sorted, without overlaps."""
    cdef list merged = []
    cdef tuple pair
    cdef long first, last, low = 0, high = 0
    cdef bint begun = False
    for pair in pairs:
        first = pair[0]
        last = pair[1]
        if first > last:
            raise ValueError(f"a range runs backwards: {first:#x} to {last:#x}")
        if begun and first <= high + 1:
            if last > high:
                high = last
            continue
        if begun:
            merged.append((low, high))
        low, high = first, last
        begun = True
    if begun:
        merged.append((low, high))
    return tuple(merged)


def normalise(pairs):
    """`pairs` in any order, overlapping or not, as `Ranges`.  Pairs with `first > last` are a `ValueError`."""
    cdef list found = list(pairs)
    if len(found) > 1:
        found.sort()
    return _merged(found)


def union(*sets):
    """Everything in any of `sets`."""
    cdef list found = []
    if len(sets) == 1:
        return sets[0]
    for ranges in sets:
        found.extend(ranges)
    found.sort()
    return _merged(found)


cpdef tuple complement(tuple ranges, long last=MAX_CODE_POINT):
    """Everything in `0..last` that is not in `ranges`."""
    cdef list gaps = []
    cdef tuple pair
    cdef long low, start = 0
    for pair in ranges:
        low = pair[0]
        if low > start:
            gaps.append((start, low - 1))
        start = <long>pair[1] + 1
    if start <= last:
        gaps.append((start, last))
    return tuple(gaps)


cpdef tuple intersection(tuple left, tuple right):
    """Everything in both."""
    cdef list shared = []
    cdef Py_ssize_t i = 0, j = 0, many = len(left), more = len(right)
    cdef tuple pair
    cdef long low, high, other_low, other_high
    while i < many and j < more:
        pair = left[i]
        low, high = pair[0], pair[1]
        pair = right[j]
        other_low, other_high = pair[0], pair[1]
        if max(low, other_low) <= min(high, other_high):
            shared.append((max(low, other_low), min(high, other_high)))
        if high < other_high:
            i += 1
        else:
            j += 1
    return tuple(shared)


cpdef tuple difference(tuple left, tuple right):
    """Everything in `left` that is not in `right`."""
    return intersection(left, complement(right))


cpdef bint contains(tuple ranges, long value):
    """Is `value` in the set?"""
    cdef Py_ssize_t low = 0, high = len(ranges), middle
    cdef tuple pair
    while low < high:
        middle = (low + high) // 2
        pair = ranges[middle]
        if value > <long>pair[1]:
            low = middle + 1
        elif value < <long>pair[0]:
            high = middle
        else:
            return True
    return False


def size(tuple ranges):
    """How many values the set holds."""
    return sum([high - low + 1 for low, high in ranges])


cpdef tuple canonical(tuple ranges):
    """The one spelling of a set of code points: surrogates are out, unless both their neighbours are in.

    A set that holds U+D7FF and U+E000 keeps them in one range, so "anything" is `((0, 0x10FFFF),)` and not two pairs.
    """
    cdef tuple pair
    cdef long low, high
    cdef bint clean = True
    for pair in ranges:
        low, high = pair[0], pair[1]
        # As it is where no range touches a surrogate, or runs over all of them and both their neighbours.
        if high >= FIRST_SURROGATE - 1 and low <= LAST_SURROGATE + 1:
            clean = clean and low < FIRST_SURROGATE and high > LAST_SURROGATE
    if clean:
        return ranges
    cdef tuple surrogates = ((FIRST_SURROGATE, LAST_SURROGATE),)
    inside = difference(ranges, surrogates)
    if contains(inside, FIRST_SURROGATE - 1) and contains(inside, LAST_SURROGATE + 1):
        return union(inside, surrogates)
    return inside
