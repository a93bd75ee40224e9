"""The nodes that the bodies of rules are made of.

Nodes are immutable, compare and hash by content, and know no rules; source spans are not part of a node's identity.  A
node can only hold nodes that were there before it, so there are no cycles, and nodes are left out of cyclic garbage
collection: grammars hold many of them.  Whatever holds a node does so through a tuple, which Python takes apart without
recursion however deep the tree is.

Read on: `ir.py` (rules), `nodes.pyx` (makes nodes in normal form).
"""

cimport cython

from cpython.object cimport Py_EQ, Py_NE
from libc.stdint cimport uint8_t

from kernels_core.clock cimport breathe, rest

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char*) except *
    void Py_LeaveRecursiveCall()


@cython.final
@cython.no_gc
cdef class Span:
    """Half-open range of character offsets `[start, end)` in the grammar's source text."""

    __match_args__ = ("start", "end")

    def __init__(self, start, end):
        self.start, self.end = start, end

    def __eq__(self, other):
        return type(other) is Span and (self.start, self.end) == (other.start, other.end)

    def __hash__(self):
        return hash((self.start, self.end))

    def __repr__(self):
        return f"Span(start={self.start!r}, end={self.end!r})"

    def __reduce__(self):
        return Span, (self.start, self.end)


@cython.no_gc
cdef class Node:
    """What all nodes have.  `span` says where in the source a node was written, if that is known."""

    cdef tuple parts(self):
        """What a node is identified by, besides its class."""
        raise NotImplementedError

    def with_span(self, span):
        """The same node with another span."""
        return _made(type(self), self.parts(), span)

    def __richcmp__(self, other, int operation):
        cdef bint same
        if operation != Py_EQ and operation != Py_NE or not isinstance(other, Node):
            return NotImplemented
        if self is other:
            same = True
        elif type(self) is not type(other):
            same = False
        elif self.known_hash and (<Node>other).known_hash and self.known_hash != (<Node>other).known_hash:
            same = False
        else:
            same = self.parts() == (<Node>other).parts()
        return same == (operation == Py_EQ)

    def __hash__(self):
        if self.known_hash == 0:
            Py_EnterRecursiveCall(" while hashing a node")
            try:
                self.known_hash = hash((type(self).__name__, self.parts())) or 1
            finally:
                Py_LeaveRecursiveCall()
        return self.known_hash

    def __repr__(self):
        shown = [f"{name}={part!r}" for name, part in zip(self.__match_args__, self.parts(), strict=True)]
        if self.span is not None:
            shown.append(f"span={self.span!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self):
        return _made, (type(self), self.parts(), self.span)


def _made(kind, parts, span):
    return kind(*parts, span=span)


def calls_nothing(Node node not None):
    """Whether no rule is called in `node` or below it: it means the same in all grammars."""
    return not node.holds & HOLDS_CALLS


def has_text(Node node not None):
    """Whether `node` surely has a text, whatever rules it calls and without a closer look."""
    return not node.holds & (HOLDS_CALLS | HOLDS_DOUBTS)


@cython.final
@cython.no_gc
cdef class Empty(Node):
    """The empty string: the language {ε}."""

    __match_args__ = ()

    def __init__(self, *, span=None):
        self.span = span

    cdef tuple parts(self):
        return ()


@cython.final
@cython.no_gc
cdef class Never(Node):
    """The empty language: matches nothing at all (EBNF's `[]`)."""

    __match_args__ = ()

    def __init__(self, *, span=None):
        self.span = span
        self.holds = HOLDS_DOUBTS

    cdef tuple parts(self):
        return ()


@cython.final
@cython.no_gc
cdef class Literal(Node):
    """A fixed, non-empty byte string."""

    __match_args__ = ("value",)

    def __init__(self, bytes value not None, *, span=None):
        self.value = value
        self.span = span

    cdef tuple parts(self):
        return (self.value,)


@cython.final
@cython.no_gc
cdef class CharSet(Node):
    """One code point out of `ranges`, spelt in UTF-8.

    `ranges` holds inclusive `(first, last)` pairs, sorted, disjoint and not adjacent, non-empty; surrogates
    (U+D800..U+DFFF) have no UTF-8 spelling and never match, whether or not a range spans them.
    """

    __match_args__ = ("ranges",)

    def __init__(self, tuple ranges not None, *, span=None):
        self.ranges = ranges
        self.span = span
        if not ranges or ranges[0][0] >= 0xD800 and ranges[len(ranges) - 1][1] <= 0xDFFF:
            self.holds = HOLDS_DOUBTS

    cdef tuple parts(self):
        return (self.ranges,)


@cython.final
@cython.no_gc
cdef class ByteSet(Node):
    """One raw byte out of `ranges` (inclusive pairs in 0..255, sorted, disjoint, not adjacent, non-empty)."""

    __match_args__ = ("ranges",)

    def __init__(self, tuple ranges not None, *, span=None):
        self.ranges = ranges
        self.span = span
        if not ranges:
            self.holds = HOLDS_DOUBTS

    cdef tuple parts(self):
        return (self.ranges,)


@cython.final
@cython.no_gc
cdef class Seq(Node):
    """Concatenation of two or more nodes."""

    __match_args__ = ("items",)

    def __init__(self, tuple items not None, *, span=None):
        self.items = items
        self.span = span
        self.holds = _held(items)

    cdef tuple parts(self):
        return (self.items,)


@cython.final
@cython.no_gc
cdef class Choice(Node):
    """Union of two or more nodes (unordered: the language is the union, there is no priority)."""

    __match_args__ = ("items",)

    def __init__(self, tuple items not None, *, span=None):
        self.items = items
        self.span = span
        self.holds = _held(items)

    cdef tuple parts(self):
        return (self.items,)


@cython.final
@cython.no_gc
cdef class Repeat(Node):
    """`item` between `minimum` and `maximum` times, both inclusive; `maximum=None` is unbounded."""

    __match_args__ = ("item", "minimum", "maximum")

    def __init__(self, Node item not None, minimum, maximum, *, span=None):
        self.held = (item,)
        self.minimum, self.maximum = minimum, maximum
        self.span = span
        self.holds = item.holds

    @property
    def item(self):
        """What is repeated."""
        return self.held[0]

    cdef tuple parts(self):
        return (self.held[0], self.minimum, self.maximum)


@cython.final
@cython.no_gc
cdef class RuleRef(Node):
    """A call of the rule called `name`."""

    __match_args__ = ("name",)

    def __init__(self, str name not None, *, span=None):
        self.name = name
        self.span = span
        self.holds = HOLDS_CALLS

    cdef tuple parts(self):
        return (self.name,)


@cython.final
@cython.no_gc
cdef class TokenSet(Node):
    """One whole token, by id: one of `ids`, or with `negated` one that is not in `ids`.

    `ids` are sorted and distinct.  A negated set never holds stop tokens or tokens without text.  Bytes never match
    it: `accept_string` cannot pass here.
    """

    __match_args__ = ("ids", "negated")

    def __init__(self, tuple ids not None, bint negated=False, *, span=None):
        self.ids, self.negated = ids, negated
        self.span = span
        self.holds = HOLDS_TOKENS

    cdef tuple parts(self):
        return (self.ids, self.negated)


@cython.final
@cython.no_gc
cdef class TagDispatch(Node):
    """Free text in which each of `tags` switches to its content (XGrammar-2, section 3.1).

    The text is `f1 T1 r1 f2 T2 r2 ... fn`: T are tags, r texts of `contents` at the same place, f free text.  No tag
    and no string of `excludes` ends in `f`, or in `f T` before the end of T, unless it lies inside that T.  With
    `loop` free text goes on after a tag's content, without it everything ends there.  The text may end wherever free
    text may, also in the middle of what might become a tag.

    With `stops` free text may not just end: a stop string, found the way tags are, is the last thing of the text, so
    that `f S` holds its first stop string at its end.  (Without `loop`, a tag's content ends the text as before.)

    `tags`, `excludes` and `stops` are non-empty byte strings; equal tags are one union.
    """

    __match_args__ = ("tags", "contents", "loop", "excludes", "stops")

    def __init__(self, tuple tags not None, tuple contents not None, bint loop=True, tuple excludes=(), tuple stops=(),
                 *, span=None):
        self.tags, self.contents, self.loop = tags, contents, loop
        self.excludes, self.stops = excludes, stops
        self.span = span
        self.holds = _held(contents)

    cdef tuple parts(self):
        return (self.tags, self.contents, self.loop, self.excludes, self.stops)


@cython.final
@cython.no_gc
cdef class Unordered(Node):
    """Members in any order, each at most once: `m1 separator m2 separator ... mn closing`, with n at least 1.

    A member is a text of `keys[i]` and one of `values[i]`; no two of them have the same i, and each i with
    `required[i]` occurs.  Other members, texts of `other_keys[j]` and `other_values[j]`, may come any number of times.
    There are `least` to `most` members in all (`most` may be None).

    With `needs`, which is a number of conditions, each member has one value or more, of which one is there:
    `options[i]`, for keys and then other keys, has the conditions that each of them meets, a bit for each.  The values
    of all keys stand one after the other in `values`, and are calls of rules that are never empty where they are
    several or meet any; those of other keys likewise.  Each condition is met by some member.

    No text of a key, others included, is the beginning of a text of another, unless one of them is a call of a rule.
    Where a key that is none ends, nothing else of the same automaton goes on: no value, nothing that stands before or
    beside the members.  This node is the end of its rule (the body, the last item of a sequence that is, or an
    alternative of a choice that is), and the only one there.
    """

    __match_args__ = (
        "keys", "values", "required", "other_keys", "other_values", "separator", "closing", "least", "most", "options",
        "needs",
    )

    def __init__(self, tuple keys not None, tuple values not None, tuple required not None, tuple other_keys not None,
                 tuple other_values not None, Node separator not None, Node closing not None, least=0, most=None,
                 tuple options not None=(), needs=0, *, span=None):
        cdef tuple sizes = tuple([len(one) for one in options]) if needs else (1,) * (len(keys) + len(other_keys))
        if (len(keys) != len(required) or len(sizes) != len(keys) + len(other_keys)
                or sum(sizes[:len(keys)]) != len(values) or sum(sizes[len(keys):]) != len(other_values)):
            raise ValueError("keys, values and required are about the same members")
        self.options, self.needs = options, needs
        self.keys, self.values, self.required = keys, values, required
        self.other_keys, self.other_values = other_keys, other_values
        self.held = (*keys, *values, *other_keys, *other_values, separator, closing)
        self.least, self.most = least, most
        self.span = span
        self.holds = _held(self.held) | HOLDS_DOUBTS

    @property
    def separator(self):
        """Between any two members."""
        return self.held[len(self.held) - 2]

    @property
    def closing(self):
        """Behind the last member."""
        return self.held[len(self.held) - 1]

    cdef tuple parts(self):
        return (self.keys, self.values, self.required, self.other_keys, self.other_values, self.separator, self.closing,
                self.least, self.most, self.options, self.needs)

    def entries(self):
        """(key, value, whether it is required, the needs it meets) of each declared value, then of each other one."""
        cdef list found = []
        cdef int at = 0, number
        values = self.values + self.other_values
        for number, key in enumerate(self.keys + self.other_keys):
            required = number < len(self.required) and self.required[number]
            for meets in self.options[number] if self.needs else (0,):
                found.append((key, values[at], required, meets))
                at += 1
        return found[:len(self.values)], found[len(self.values):]


cdef uint8_t _held(tuple items) except? 255:
    cdef uint8_t holds = 0
    cdef Node item
    for item in items:
        holds |= item.holds
    breathe(<int>len(items))
    return holds


cpdef tuple children(Node node):
    """The direct sub-nodes of `node`, left to right."""
    kind = type(node)
    if kind is Seq:
        return (<Seq>node).items
    if kind is Choice:
        return (<Choice>node).items
    if kind is Repeat:
        return (<Repeat>node).held
    if kind is TagDispatch:
        return (<TagDispatch>node).contents
    if kind is Unordered:
        return (<Unordered>node).held
    return ()


def walk(Node node):
    """`node` and everything below it, in pre-order (iterative: depth is not limited by Python's stack)."""
    cdef list stack = [node]
    while stack:
        rest(2)
        top = stack.pop()
        yield top
        stack.extend(reversed(children(top)))
