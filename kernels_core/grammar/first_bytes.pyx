"""Which bytes texts begin with, read from nodes: `firsts.pxd` says what is asked and what answers mean.

A walk along all ways through a node that end at a byte, or at one behind a quote or bracket: a few nodes of a body.

Read on: `rules.pyx` (rules that wait say how they begin), `../automata/growing.pyx` (who asks).
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from kernels_core.grammar.firsts cimport (
    AT_FIRST, BEGINNINGS, BEHIND_BRACE, BEHIND_BRACKET, BEHIND_BOTH, BEHIND_QUOTE, BEHIND_QUOTES, UNTOLD, holds, read_on,
)
from kernels_core.grammar.regular.first_letters cimport Letters, first_letters
from kernels_core.grammar.rules cimport DeferredRule, Rule
from kernels_core.grammar.tree cimport ByteSet, CharSet, Choice, Empty, Literal, Never, Repeat, RuleRef, Seq

__all__ = ["Beginnings", "known_beginnings"]

cdef int32_t MOST = 300         # nodes that are read before nothing is known
cdef tuple NAMES = (b"", b'"', b"[", b"{", b"[{")


cdef Beginnings beginnings(dict rules, bint within):
    """Nothing read yet; nodes may call `rules`.  `within` as in `DeferredRule.begins`."""
    cdef Beginnings made = Beginnings.__new__(Beginnings)
    made.rules = rules
    made.left = MOST
    made.doubtful = made.perhaps = False
    made.within = within
    memset(&made.found, 0, sizeof(Firsts))
    return made


cdef class Beginnings:
    """How the texts of the nodes that were read begin, together."""

    cpdef int read(self, Node node) except -1:
        """Read one more node, which has some text, unless it is Never."""
        return 0 if type(node) is Never else self._read(node, NULL, AT_FIRST)

    cdef int read_both(self, Node first, Node second) except -1:
        """Read texts of `first` with one of `second` behind."""
        cdef tuple items = (first, second)
        cdef Behind rest = Behind(NULL, <PyObject*>items, 1)
        return self._read(first, &rest, AT_FIRST)

    cpdef int read_perhaps(self, Node node) except -1:
        """Read one more node, which may have no text in truth."""
        self.perhaps = True
        try:
            return self.read(node)
        finally:
            self.perhaps = False

    cpdef int string(self, Language language) except -1:
        """Read the JSON strings of `language`, which has some.

        Letters of ASCII stand for themselves, or are escaped; how all others are spelt is not asked.
        """
        cdef Letters letters
        cdef bint exact = first_letters(language, &letters)
        cdef int32_t i
        self.mark(AT_FIRST, c'"', c'"', True)
        for i in range(0x20, 0x7F):
            if i != c'"' and i != c"\\" and letters.ascii[i >> 6] >> (i & 63) & 1:
                self.mark(BEHIND_QUOTE, i, i, exact)
        if letters.ascii[0] or letters.ascii[1] or letters.others:
            self.mark(BEHIND_QUOTE, c"\\", c"\\", False)
            self.mark(BEHIND_QUOTE, 0x7F, 0xFF, False)
        if language.nullable:
            self.mark(BEHIND_QUOTE, c'"', c'"', True)
        return 0

    cpdef int number(self, bint minus, bint surely) except -1:
        """Read some numbers; `minus`: some may have a sign, or `surely` do."""
        self.mark(AT_FIRST, c"0", c"9", False)
        if minus:
            self.mark(AT_FIRST, c"-", c"-", surely)
        return 0

    cpdef int any_array(self) except -1:
        """Read some arrays."""
        self.mark(AT_FIRST, c"[", c"[", True)
        self.give_up(BEHIND_BRACKET)
        return 0

    cpdef int any_object(self) except -1:
        """Read some objects."""
        self.mark(AT_FIRST, c"{", c"{", True)
        self.give_up(BEHIND_BRACE)
        return 0

    cpdef int anything(self) except -1:
        """Read what nothing is known of."""
        self.give_up(AT_FIRST)
        return 0

    cdef int call(self, str name) except -1:
        """Read a call of the rule called `name`."""
        return self._call(name, NULL, AT_FIRST)

    cdef bint tell(self, Firsts* found) noexcept:
        """What is known of all nodes; False if that is nothing."""
        if self.doubtful:
            memset(self.found.sure, 0, sizeof(self.found.sure))
        found[0] = self.found
        return ~(found.maybe[0][0] & found.maybe[0][1] & found.maybe[0][2] & found.maybe[0][3]) != 0

    cdef void mark(self, int32_t beginning, int32_t low, int32_t high, bint sure) noexcept:
        """Note that bytes from `low` to `high` may come, or are `sure` to."""
        cdef int32_t byte
        for byte in range(low, high + 1):
            self.found.maybe[beginning][byte >> 6] |= <uint64_t>1 << (byte & 63)
            if sure and not self.perhaps:
                self.found.sure[beginning][byte >> 6] |= <uint64_t>1 << (byte & 63)

    cdef void give_up(self, int32_t beginning) noexcept:
        """Note that nothing is known of what comes now."""
        cdef int32_t i
        if beginning == BEHIND_QUOTES:
            self.found.beyond = True
            return
        for i in range(4):
            self.found.maybe[beginning][i] = ~<uint64_t>0
        if beginning == AT_FIRST or beginning == BEHIND_QUOTE:
            self.found.beyond = True
        if beginning == AT_FIRST:
            memset(self.found.maybe, 0xFF, sizeof(self.found.maybe))
        elif beginning == BEHIND_BRACKET:
            memset(self.found.maybe[BEHIND_BOTH], 0xFF, sizeof(self.found.maybe[BEHIND_BOTH]))

    cdef int _read(self, Node node, const Behind* behind, int32_t beginning) except -1:
        """Follow all ways through `node`, and then `behind`, of which `beginning` was read before."""
        cdef const unsigned char* text
        cdef Py_ssize_t i
        cdef Behind rest
        cdef bytes value
        kind = type(node)
        self.left -= 1
        if self.left < 0:
            self.give_up(beginning)
            return 0
        if kind is Literal:
            value = (<Literal>node).value
            text = value
            for i in range(len(value)):
                if beginning == BEHIND_QUOTES:
                    self.found.beyond = True
                    return 0
                self.mark(beginning, text[i], text[i], True)
                beginning = read_on(beginning, text[i])
                if beginning == UNTOLD or self.within and beginning == BEHIND_BRACKET:
                    return 0
            return self._go_on(behind, beginning)
        if kind is CharSet:
            return self._read_class((<CharSet>node).ranges, behind, beginning)
        if kind is ByteSet:
            for low, high in (<ByteSet>node).ranges:
                self._take(low, high, behind, beginning)
            return 0
        if kind is Seq:
            rest = Behind(behind, <PyObject*>(<Seq>node).items, 1)
            return self._read(<Node>(<Seq>node).items[0], &rest, beginning)
        if kind is Choice:
            for item in (<Choice>node).items:
                self._read(<Node>item, behind, beginning)
            return 0
        if kind is Repeat:
            rest = Behind(behind, <PyObject*>node, 0)
            return self._go_on(&rest, beginning)
        if kind is RuleRef:
            return self._call((<RuleRef>node).name, behind, beginning)
        if kind is Empty:
            return self._go_on(behind, beginning)
        self.doubtful = True        # it may have no text
        self.give_up(beginning)
        return 0

    cdef int _go_on(self, const Behind* behind, int32_t beginning) except -1:
        """Follow what is behind a node that was read."""
        cdef tuple items
        cdef Repeat loop
        cdef Behind rest
        if self.within and beginning == BEHIND_BRACKET:
            return 0
        if behind == NULL:
            if beginning != BEHIND_QUOTES:
                self.give_up(beginning)         # the end: what follows is the caller's
            return 0
        if type(<object>behind.node) is tuple:
            items = <tuple>behind.node
            if behind.done == len(items):
                return self._go_on(behind.then, beginning)
            rest = Behind(behind.then, behind.node, behind.done + 1)
            return self._read(<Node>items[behind.done], &rest, beginning)
        loop = <Repeat>behind.node
        if behind.done >= loop.minimum:
            self._go_on(behind.then, beginning)
        if loop.maximum is None or behind.done < loop.maximum:
            rest = Behind(behind.then, behind.node, behind.done + 1)
            self._read(<Node>loop.held[0], &rest, beginning)
        return 0

    cdef int _take(self, int32_t low, int32_t high, const Behind* behind, int32_t beginning) except -1:
        """Read one of some bytes, and what is behind it."""
        cdef int32_t after
        cdef uint8_t byte
        if beginning == BEHIND_QUOTES:
            self.found.beyond = True
            return 0
        self.mark(beginning, low, high, True)
        for byte in b'"[{':
            if low <= byte <= high:
                after = read_on(beginning, byte)
                if after != UNTOLD:
                    self._go_on(behind, after)
        return 0

    cdef int _read_class(self, tuple ranges, const Behind* behind, int32_t beginning) except -1:
        """One character: the first byte of its UTF-8."""
        cdef int32_t low, high
        cdef bint any_text = False
        for low, high in ranges:
            if low < 0x80:
                any_text = True
                self._take(low, min(high, 0x7F), behind, beginning)
            if high < 0x80:
                continue
            if beginning == BEHIND_QUOTES:
                self.found.beyond = True
                return 0
            if 0xD800 <= low and high <= 0xDFFF:
                continue            # no text has a surrogate
            any_text = True
            if low < 0x800:
                self.mark(beginning, 0xC0 | max(low, 0x80) >> 6, 0xC0 | min(high, 0x7FF) >> 6, True)
            # 0xED is the first byte of surrogates and of what is in front of them.
            if high >= 0x800 and low < 0x10000:
                self.mark(beginning, 0xE0 | max(low, 0x800) >> 12, 0xE0 | min(high, 0xFFFF) >> 12, True)
                if 0xD800 <= low <= 0xDFFF:
                    self.doubtful = True
            if high >= 0x10000:
                self.mark(beginning, 0xF0 | max(low, 0x10000) >> 18, 0xF0 | high >> 18, True)
        self.doubtful |= not any_text
        return 0

    cdef int _call(self, str name, const Behind* behind, int32_t beginning) except -1:
        """A rule, which says itself how it begins if it waits."""
        cdef Rule rule = <Rule?>self.rules[name]
        cdef Firsts theirs
        if not isinstance(rule, DeferredRule):
            return self._read(<Node?>rule.made, behind, beginning)
        if beginning == BEHIND_QUOTES:
            self.found.beyond = True        # it has some text, and not the empty one
            return 0
        if not (<DeferredRule>rule).begins(&theirs, self.within or beginning != AT_FIRST):
            self.give_up(beginning)
            return 0
        self._add(beginning, &theirs, AT_FIRST)
        if beginning == AT_FIRST:
            self._add(BEHIND_QUOTE, &theirs, BEHIND_QUOTE)
            self._add(BEHIND_BRACKET, &theirs, BEHIND_BRACKET)
            self._add(BEHIND_BRACE, &theirs, BEHIND_BRACE)
            self._add(BEHIND_BOTH, &theirs, BEHIND_BOTH)
            self.found.beyond |= theirs.beyond
            if holds(theirs.maybe[BEHIND_QUOTE], c'"'):
                return self._go_on(behind, BEHIND_QUOTES)
        elif beginning == BEHIND_BRACKET:
            self._add(BEHIND_BOTH, &theirs, BEHIND_BRACE)
        elif beginning == BEHIND_QUOTE:
            self.found.beyond |= holds(theirs.maybe[AT_FIRST], c'"')
        return 0

    cdef void _add(self, int32_t beginning, const Firsts* other, int32_t theirs) noexcept:
        cdef int32_t i
        for i in range(4):
            self.found.sure[beginning][i] |= other.sure[theirs][i]
            self.found.maybe[beginning][i] |= other.maybe[theirs][i]


def known_beginnings(ir, str name not None):
    """How the texts of a rule of `ir` begin: by what was read ((b"", b'"', b"[", b"{", b"[{"), the bytes that certainly may
    come then, and all that may; under None whether something may follow an empty string.  None if nothing is known.
    """
    cdef Firsts found
    cdef Beginnings read
    cdef dict told = {}
    cdef int i
    with ir.lock:
        read = beginnings(ir.rules, False)
        read.call(name)
    if not read.tell(&found):
        return None
    for i in range(BEGINNINGS):
        told[NAMES[i]] = _bytes(found.sure[i]), _bytes(found.maybe[i])
    told[None] = bool(found.beyond)
    return told


cdef set _bytes(const uint64_t* bits):
    return {byte for byte in range(256) if holds(bits, byte)}
