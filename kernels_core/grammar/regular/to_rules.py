"""Languages as grammar nodes: as they are written, and by their automaton where intersections or assertions are left.

Read on: `dfa.py`, `graph.py` (automata as rules), `../json_schema/spelling.py` (the same in JSON).
"""

from __future__ import annotations

from .. import charset
from ..charset import Ranges
from ..ir import Node
from ..nodes import MAX_REPEAT, char_set, choice, literal, repeat, seq
from ..rulebook import RuleBook
from .dfa import determinise
from .graph import Graph
from .languages import ALL, MAX_SIZE, Alt, Cat, Chars, Language, Loop, TooLarge, Words


class LanguageWriter:
    """Makes grammar nodes for languages; rules that are needed go to `book`, called like `hint`.

    Subclasses say how characters are spelt; here it is in UTF-8.
    """

    # Of one automaton; determinising so many takes about a second.
    most_states = 5_000

    def __init__(self, book: RuleBook, hint: str) -> None:
        self.book = book
        self._hint = hint

    def content(self, language: Language) -> Node:
        """The strings of `language`.  Raises `TooManyStates`."""
        match language:
            case Words():
                return choice([self.text(text) for text in sorted(language.words)])
            case Chars():
                return self.characters(language.ranges)
            case Cat():
                return seq([self.content(item) for item in language.items])
            case Alt():
                return choice([self.content(item) for item in language.items])
            case Loop():
                if language == ALL:
                    return self.everything()
                # Counts beyond what the engine counts are beyond every text, too.
                most = language.most if language.most is None or language.most <= MAX_REPEAT else None
                return repeat(self.content(language.item), min(language.least, MAX_REPEAT), most)
            case _:
                return self.combined(language)

    def combined(self, language: Language) -> Node:
        """An intersection, a complement, or what only its derivatives tell."""
        return self.automaton(language)

    def automaton(self, language: Language) -> Node:
        """The strings of `language` by its automaton.  Raises `TooManyStates`."""
        dfa = determinise(language, self.most_states)
        graph, free = Graph(len(dfa.table)), dfa.free
        for state, accepts in enumerate(dfa.accepting):
            if accepts:
                graph.finish(state)
        for state, label, target in dfa.edges(self.characters):
            if state != free:
                graph.edge(state, label, target)
        if free >= 0:
            # From there on everything is allowed: the rule for that is shared.
            graph.edge(free, self.everything(), graph.state(final=True))
        return graph.node(self.book, self._hint)

    def text(self, text: str) -> Node:
        """One string."""
        return literal(text.encode())

    def characters(self, ranges: Ranges) -> Node:
        """One character of `ranges`."""
        return char_set(ranges)

    def everything(self) -> Node:
        """All strings."""
        return repeat(self.characters(charset.ALL), 0, None)


def language_node(language: Language, book: RuleBook, hint: str) -> Node:
    """The strings of `language` in UTF-8; rules that are needed go to `book`.  Raises `TooManyStates`."""
    writer = LanguageWriter(book, hint)
    try:
        # Shared parts would each be written out wherever they are used.
        return writer.automaton(language) if language.size > MAX_SIZE else writer.content(language)
    except RecursionError:
        raise TooLarge("less nesting") from None
