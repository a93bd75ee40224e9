"""The letters that the texts of a language begin with, read off the language, without an automaton.

Read on: `prefixes.py` (more of a beginning), `../first_bytes.pyx` (who asks).
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from kernels_core.grammar.regular.language cimport Alt, And, Cat, Chars, Language, Loop, Words

cdef int MOST_WORDS = 1000
cdef int MOST_PARTS = 200       # that are looked at


cdef bint first_letters(Language language, Letters* found) except -1:
    """`found` gets all letters that a text of `language` begins with; whether each of them certainly begins one."""
    cdef int left = MOST_PARTS
    memset(found, 0, sizeof(Letters))
    _collect(language, found, &left)
    return left > 0 and language.plain and not language.unfolds


cdef int _collect(Language language, Letters* found, int* left) except -1:
    cdef Letters some, common
    cdef int i
    kind = type(language)
    left[0] -= 1
    if left[0] <= 0 or kind is Words and len((<Words>language).words) > MOST_WORDS:
        left[0] = 0
        _mark(found, 0, 0x10FFFF)
    elif kind is Words:
        for word in (<Words>language).words:
            if word:
                _mark(found, ord((<str>word)[0]), ord((<str>word)[0]))
    elif kind is Chars:
        for low, high in (<Chars>language).ranges:
            _mark(found, low, high)
    elif kind is Loop:
        if (<Loop>language).most != 0:
            _collect((<Loop>language).item, found, left)
    elif kind is Cat:
        for item in (<Cat>language).items:
            _collect(<Language>item, found, left)
            if not (<Language>item).nullable:
                break
    elif kind is Alt:
        for item in (<Alt>language).items:
            _collect(<Language>item, found, left)
    elif kind is And:
        memset(&common, 0xFF, sizeof(Letters))
        for item in (<And>language).items:
            memset(&some, 0, sizeof(Letters))
            _collect(<Language>item, &some, left)
            for i in range(2):
                common.ascii[i] &= some.ascii[i]
            common.others = common.others and some.others
        for i in range(2):
            found.ascii[i] |= common.ascii[i]
        found.others = found.others or common.others
    else:
        _mark(found, 0, 0x10FFFF)
    return 0


cdef void _mark(Letters* found, long low, long high) noexcept:
    cdef long letter
    for letter in range(low, min(high, 0x7F) + 1):
        found.ascii[letter >> 6] |= <uint64_t>1 << (letter & 63)
    found.others = found.others or high > 0x7F
