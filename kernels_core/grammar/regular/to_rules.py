"""Languages as grammar nodes: as they are written, and by their automaton where intersections or assertions are left.

Read on: `dfa.py`, `graph.py` (automata as rules).
"""

from __future__ import annotations

from ..ir import Node
from ..nodes import MAX_REPEAT, char_set, choice, literal, repeat, seq
from ..rulebook import RuleBook
from .dfa import determinise
from .graph import Graph
from .languages import MAX_SIZE, Alt, Cat, Chars, Language, Loop, TooLarge, Words

# Of one automaton; determinising so many takes about a second.
MAX_REGEX_STATES = 5_000


def language_node(language: Language, book: RuleBook, hint: str) -> Node:
    """The strings of `language` in UTF-8; rules that are needed go to `book`.  Raises `TooManyStates`."""
    try:
        if language.size > MAX_SIZE:  # shared parts, each of which would be written out wherever it is used
            return _automaton(language, book, hint)
        return _written(language, book, hint)
    except RecursionError:
        raise TooLarge("less nesting") from None


def _written(language: Language, book: RuleBook, hint: str) -> Node:
    match language:
        case Words():
            return choice([literal(text.encode()) for text in sorted(language.words)])
        case Chars():
            return char_set(language.ranges)
        case Cat():
            return seq([_written(item, book, hint) for item in language.items])
        case Alt():
            return choice([_written(item, book, hint) for item in language.items])
        case Loop():
            most = language.most if language.most is None or language.most <= MAX_REPEAT else None
            return repeat(_written(language.item, book, hint), min(language.least, MAX_REPEAT), most)
        case _:
            return _automaton(language, book, hint)


def _automaton(language: Language, book: RuleBook, hint: str) -> Node:
    dfa = determinise(language, MAX_REGEX_STATES)
    graph = Graph(len(dfa.table))
    for state in range(len(dfa.table)):
        if dfa.accepting[state]:
            graph.finish(state)
        for target, ranges in dfa.edges(state).items():
            graph.edge(state, char_set(ranges), target)
    return graph.node(book, hint)
