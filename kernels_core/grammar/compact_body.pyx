"""Say the body of a deferred rule in a few words, where it would be large in grammar nodes.

`ir.DeferredRule.make` may return a compact body where it is asked for one; the automaton is then written from it
(`automata/compact_bodies.pyx`), with the language and not necessarily the states of the body that is made in full.

- `ExcludedWords`: any text but for some words, such as "all other keys" of an object.
- `Listing`: items with separators, most of them optional, and any number of others, in any order or in a fixed one: an
  object.
- `Row`: items of one kind with separators, a few of which are counted: an array.
- `Words`: some words: an enumeration.
- `Branches`: many words, each with a rule of its own behind it: a set of tools.
- `Diagram`: states and labelled edges: strings with several conditions.
- `Bounded`: the same with a bound on the number of edges: strings with conditions and a length.

Like nodes (`tree.pyx`) compact bodies are immutable and made bottom-up, so there are no cycles for a garbage collector
to look for.  They compare by identity.

Read on: `ir.py`; `json_schema/spelling.py`, `json_schema/objects.py` and `structural_tag/tag_lists.py`, who make them.
"""

cimport cython

from kernels_core.grammar.tree cimport Node

__all__ = ["ExcludedWords", "Bounded", "Branches", "Diagram", "Item", "Listing", "Row", "CompactBody", "Words"]


@cython.no_gc
cdef class CompactBody:
    """What all compact bodies are."""


@cython.final
@cython.no_gc
cdef class ExcludedWords(CompactBody):
    """All texts `t end` where t is none of `words`: along the tree of the words, then free.

    `letters`: bytes below 0x80 that each stand for a character (inclusive pairs, sorted and disjoint); `words` are made
    of such as have no other spelling.  `beyond`: any other character, in any spelling.  `rest`: any characters, letters
    and others, and the `end`, which is one byte; it may spell characters in ASCII in more ways, no others.
    """

    def __init__(self, frozenset words not None, tuple letters not None, Node beyond not None, Node rest not None,
                 int end):
        self.words, self.letters, self.beyond, self.rest, self.end = words, letters, beyond, rest, end


@cython.final
@cython.no_gc
cdef class Item:
    """What may stand, or with `required` must stand, at one place of a listing."""

    def __init__(self, Node key not None, Node value not None, bint required):
        self.key, self.value, self.required = key, value, required


@cython.final
@cython.no_gc
cdef class Listing(CompactBody):
    """`opening`, then `items`, each at most once, and any number of `others`, with `comma` between any two, `closing`.

    With `in_order` the items come in this order, and the others behind them; else the keys are as those of
    `tree.Unordered`.  An item is its key, `colon`, and its value; so are `others` (never required).  Without any item
    and any other the text is `empty`; that is Never where there has to be one.
    """

    def __init__(self, Node opening not None, tuple items not None, tuple others not None, Node colon not None,
                 Node comma not None, Node closing not None, Node empty not None, bint in_order):
        self.opening, self.closing, self.empty = opening, closing, empty
        self.items, self.others, self.colon, self.comma = items, others, colon, comma
        # Of one item, or of others alone, there is one order.
        self.in_order = in_order or len(items) == 0 or len(items) + len(others) == 1


@cython.final
@cython.no_gc
cdef class Row(CompactBody):
    """`opening`, then `least` to `most` times `item` with `comma` between any two, then `closing`; `empty` for none.

    `most` is -1 where there is no such bound, and else one or more.
    """

    def __init__(self, Node opening not None, Node item not None, Node comma not None, Node closing not None,
                 Node empty not None, int least, int most):
        self.opening, self.item, self.comma, self.closing, self.empty = opening, item, comma, closing, empty
        self.least, self.most = least, most


cdef Row row_of(Node opening, Node item, Node comma, Node closing, Node empty, int least, int most):
    """A `Row`, for callers in C."""
    cdef Row row = Row.__new__(Row)
    row.opening, row.item, row.comma, row.closing, row.empty = opening, item, comma, closing, empty
    row.least, row.most = least, most
    return row


@cython.final
@cython.no_gc
cdef class Words(CompactBody):
    """One of `words`, which are in ascending order and differ."""

    def __init__(self, tuple words not None):
        self.words = words


cdef Words one_of(tuple words):
    """A `Words`, for callers in C."""
    cdef Words found = Words.__new__(Words)
    found.words = words
    return found


@cython.final
@cython.no_gc
cdef class Branches(CompactBody):
    """One of `words`, then a text of the rule whose name stands at the same place of `rules`; words may be equal."""

    def __init__(self, tuple words not None, tuple rules not None):
        self.words, self.rules = words, rules


@cython.final
@cython.no_gc
cdef class Diagram(CompactBody):
    """All ways from state 0 to the last of `size` states along `edges`: (source, label, target), a label being a node.

    Of the nodes that stand on the edges Empty is allowed, too.  No edge leaves the last state.
    """

    def __init__(self, int size, edges not None):
        self.size, self.edges = size, tuple(edges)      # a list of edges is read over by every full collection


@cython.final
@cython.no_gc
cdef class Bounded(CompactBody):
    """`opening`, then `least` to `most` labels on a way from state 0 to an `accepting` one, then `closing`.

    `opening` and `closing` may be Empty; `least` is above 0 where both are.  No text of `closing` begins with a byte
    that a label begins with.

    `edges` are (source, label, target) between `size` states, of which each leads on to an accepting one.  Labels are
    nodes that call nothing, and those that leave one state are a prefix code together: none is empty, no text of one
    is the beginning of another.  `spans` has (least, most or None) for each state: the numbers of labels from there
    to an accepting state are all of those, and no others.
    """

    def __init__(self, int size, edges not None, tuple accepting not None, tuple spans not None,
                 Node opening not None, Node closing not None, int least, int most):
        if len(spans) != size:
            raise ValueError(f"{len(spans)} spans for {size} states")
        self.size, self.edges, self.accepting, self.spans = size, tuple(edges), accepting, spans
        self.opening, self.closing, self.least, self.most = opening, closing, least, most
