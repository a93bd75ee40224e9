"""Say the body of a deferred rule in a few words, where it would be large in grammar nodes.

`ir.DeferredRule.make` may return a compact body where it is asked for one; the automaton is then written from it
(`automata/compact_bodies.pyx`), with the language and not necessarily the states of the body that is made in full.

- `ExcludedWords`: any text but for some words, such as "all other keys" of an object.
- `ListedWords`: many words, each with a rule of its own behind it, such as the beginnings of tools.
- `Diagram`: states and labelled edges: strings with several conditions, one of which may be a length.

Like nodes (`tree.pyx`) compact bodies are immutable and made bottom-up, so there are no cycles for a garbage collector
to look for.  They compare by identity.

Read on: `ir.py`; `json_schema/spelling.py` and `structural_tag/tag_lists.py`, which make them.
"""

cimport cython

from kernels_core.grammar.tree cimport Node


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
cdef class ListedWords(CompactBody):
    """One of `words`, in order, two of which may be equal; and behind it a text of the rule that `behind(place)` names.

    It is asked for when a text gets to the end of the word, and may then be made.  It does not match the empty string.
    """

    def __init__(self, tuple words not None, behind not None):
        self.words, self.behind = words, behind


@cython.final
@cython.no_gc
cdef class Diagram(CompactBody):
    """`opening`, then the labels on a way from state 0 to an `accepting` one, then `closing`.

    `edges` are (source, label, target) between `size` states; behind an edge to `size` the text is over, without a
    `closing`.  `opening` and `closing` may be Empty; no text is empty.

    With `spans` there are `least` to `most` labels.  Then no edge leads to `size`, and each state leads on to an
    accepting one; labels call nothing, and those that leave one state are a prefix code together: none is empty, no
    text of one is the beginning of another, and no text of `closing` begins with a byte that a label begins with.
    `spans` has (least, most or None) for each state: the numbers of labels from there to an accepting state are all of
    those, and no others.
    """

    def __init__(self, int size, edges not None, tuple accepting not None, Node opening not None, Node closing not None,
                 tuple spans=None, int least=0, int most=0):
        if spans is not None and len(spans) != size:
            raise ValueError(f"{len(spans)} spans for {size} states")
        self.size, self.edges = size, tuple(edges)      # a list of edges is read over by every full collection
        self.accepting, self.opening, self.closing = accepting, opening, closing
        self.spans, self.least, self.most = spans, least, most
