"""The nodes that patterns are read to, as languages: characters, sequences, choices, repetitions.

Read on: `from_rules.py` (whole grammars, and trees with assertions), `languages.py`.
"""

from kernels_core.grammar.ranges cimport canonical
from kernels_core.grammar.regular.language cimport Chars, Language, Words
from kernels_core.grammar.regular.operations cimport concat_of, loop_of, union_of
from kernels_core.grammar.tree cimport CharSet, Choice, Empty, Literal, Never, Node, Repeat, Seq

from kernels_core.grammar.regular.operations import EPSILON, NOTHING, bounded

# What is nested deeper is left to those who do not recurse.
cdef int DEEPEST = 250


def node_language(Node node not None):
    """The strings of `node`, or None where it holds anything else, or is nested deeply.  Raises `TooLarge`."""
    return _language(node, 0)


cdef Language _language(Node node, int depth):
    cdef list below
    cdef Language found
    kind = type(node)
    if kind is Literal:
        try:
            return Words(frozenset(((<Literal>node).value.decode(),)))
        except UnicodeDecodeError:
            return None
    if kind is CharSet:
        ranges = canonical((<CharSet>node).ranges)
        return Chars(ranges) if ranges else NOTHING
    if depth > DEEPEST:
        return None
    if kind is Seq or kind is Choice:
        below = []
        for item in (<Seq>node).items if kind is Seq else (<Choice>node).items:
            found = _language(item, depth + 1)
            if found is None:
                return None
            below.append(found)
        return bounded(concat_of(tuple(below)) if kind is Seq else union_of(tuple(below)))
    if kind is Repeat:
        found = _language((<Repeat>node).held[0], depth + 1)
        if found is None:
            return None
        return bounded(loop_of(found, (<Repeat>node).minimum, (<Repeat>node).maximum))
    if kind is Empty:
        return EPSILON
    return NOTHING if kind is Never else None
