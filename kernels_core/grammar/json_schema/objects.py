"""Objects as text: members in any order, or declared ones in their order.

In any order the text is one node (`ir.Unordered`), of which the parser keeps the names that it has seen, how many
members there were and which needs they met ("some member lies in ...").  In declared order, without obligations beyond
required names, it is one expression; with needs, or with bounds on the number of members, it is a graph whose states
are (place in the order, needs met, members counted); a member is an edge.

A member that is declared cannot come twice.  Others can: "no key twice" is not context-free for free keys.  Where it
matters (`kinds.counts_others`) the matcher compares the names: they are marked `item`, and the object `distinct`
(`../attributes.py`).  Elsewhere a text that repeats an additional key is judged as if the two were different keys (JSON
parsers then keep the last).

Read on: `kinds.py` (which members there are), `steps.py` (the graph).
"""

from __future__ import annotations

from ..ir import Never, Node, Unordered
from ..needs import can_be_met, too_many
from ..nodes import choice, repeat, seq, unordered
from ..regular.dfa import TooManyStates
from ..regular.languages import Language
from .kinds import Kind, counts_others
from .shapes import Members
from .steps import MemberStep, member_steps
from .terms import Term
from .value_writer import ValueWriter


class ObjectText:
    """Makes the node of one `Members` at one level of nesting, with declared members `in_order` or in any."""

    as_json = True  # that is how names are written, so that they can be compared

    def __init__(self, emitter: ValueWriter, members: Members, level: int, name: str, *, in_order: bool) -> None:
        self.emitter = emitter
        self.layout = emitter.layout
        self.members = members
        self.level = level
        self.inner = emitter.layout.inner(level)
        self.name = name
        self.in_order = in_order
        self.required: list[bool] = []
        self.names_differ = False  # it is left to the matcher that names differ
        self._edges: dict[tuple[int, Term, bool], Node] = {}
        self.named: list[tuple[Node, Kind]] = []
        self.others: list[tuple[Node, Kind]] = []

    def node(self) -> Node:
        """The whole object, braces included.  Raises `TooManyStates`."""
        as_json = self.as_json and self.emitter.as_json and self.emitter.order != "loose"
        self.names_differ = as_json and counts_others(self.members, self.emitter.kinds(self.members))
        if not self.names_differ:
            return self._text()
        key = (self.emitter.way, "distinct", self.members, self.level, self.in_order)
        return self.emitter.book.share(key, self.name, self._text, (("distinct", None),))

    def _text(self) -> Node:
        members, layout = self.members, self.layout
        kinds = self.emitter.kinds(members)
        self.named = [(self.declared_key(kind.name), kind) for kind in kinds.named if kind.name is not None]
        self.required = list(kinds.required)
        self.others = [(self._compared_key(kind.keys), kind) for kind in kinds.others]
        opening, closing = layout.opening(b"{", self.level), layout.closing(b"}", self.level)
        is_loose = self.emitter.order == "loose" and not self.in_order
        if not members.needs and (is_loose or not self.named):
            body = self._alike()
        elif not self.in_order and (members.needs or len(self.named) + len(self.others) > 1):
            body, closing = self._unordered(closing), seq(())
        elif members.needs or members.least or members.most is not None:
            body = self._graph()
        else:
            pairs = zip(self.named, self.required, strict=True)
            named = [(self.member(key, kind.term), must) for (key, kind), must in pairs]
            others = [self.member(key, kind.term) for key, kind in self.others]
            body = fields_in_order(named, others, layout.comma(self.level))
        filled = seq((opening, body, closing))
        may_be_empty = not (any(self.required) or members.needs or members.least)
        return choice((filled, layout.empty(b"{}"))) if may_be_empty else filled

    def _compared_key(self, keys: Language) -> Node:
        """`other_key`, which is compared with others where that matters."""
        if not self.names_differ:
            return self.other_key(keys)
        key = (self.emitter.way, "item", self.members, self.level, self.in_order, keys)
        return self.emitter.book.share(key, f"{self.name}_name", lambda: self.other_key(keys), (("item", None),))

    # -- what is written differently where members are not JSON -----------------------------------------------------

    def declared_key(self, name: str) -> Node:
        """The text of a declared name."""
        return self.emitter.speller.word(name)

    def other_key(self, keys: Language) -> Node:
        """The texts of the names in `keys`."""
        return self.emitter.speller.string(keys, f"{self.name}_key")

    def value(self, term: Term) -> Node:
        """The texts of a member's value."""
        return self.emitter.value(term, self.inner)

    def member(self, key: Node, term: Term) -> Node:
        """One member with a value of `term`."""
        return seq((key, self.layout.colon(self.level), self.value(term)))

    def parted(self, key: Node, term: Term) -> tuple[Node, Node]:
        """A member in two parts, of which the first ends where it is known which member it is."""
        return key, seq((self.layout.colon(self.level), self.value(term)))

    # -- text -----------------------------------------------------------------------------------------------------

    def _unordered(self, closing: Node) -> Node:
        """Members in any order, the end of the object with them.  Raises `TooManyStates`."""
        members, comma = self.members, self.layout.comma(self.level)
        named = [
            (key, value, required, meets)
            for (name, kind), required in zip(self.named, self.required, strict=True)
            for key, value, meets in self._options(name, kind)
        ]
        others = [option for keys, kind in self.others for option in self._options(keys, kind)]
        if not members.needs:
            pairs = [(key, value) for key, value, _ in others]
            return unordered([member[:3] for member in named], pairs, comma, closing, members.least, members.most)
        made = unordered(named, others, comma, closing, members.least, members.most, None, len(members.needs))
        if not isinstance(made, Unordered):
            return made
        if most := too_many(made):
            raise TooManyStates(most)
        return made if can_be_met(made) else Never()

    def _options(self, name: Node, kind: Kind) -> list[tuple[Node, Node, int]]:
        """The key of a member, what follows it, and which needs it meets then, a bit for each."""
        key = name
        found: dict[Node, int] = {}
        for needs, term in kind.options:
            key, value = self.parted(name, term)
            found[value] = found.get(value, 0) | sum(1 << need for need in needs)
        if len(found) > 1 or any(found.values()):
            # Which of them it is, is told by the rule that is called.
            found = {
                value if isinstance(value, Never) else self.emitter.book.add(f"{self.name}_member", value): meets
                for value, meets in found.items()
            }
        return [(key, value, meets) for value, meets in found.items()] or [(key, Never(), 0)]

    def _alike(self) -> Node:
        """Members in any order, each any number of times, as many as there are required names: the parser counts."""
        comma = self.layout.comma(self.level)
        one = choice([self.member(key, kind.term) for key, kind in (*self.named, *self.others)])
        least, most = max(self.members.least, sum(self.required)), self.members.most
        if most is not None and most < max(least, 1):
            return choice(())
        return seq((one, repeat(seq((comma, one)), max(least - 1, 0), None if most is None else most - 1)))

    def _graph(self) -> Node:
        """Needs, or bounds: the ways through a graph."""
        kinds = [*self.named, *self.others]
        steps = member_steps(self.members, self.emitter.kinds(self.members))

        def edge(step: MemberStep) -> Node:
            number, term, written = step
            return self._edge(kinds[number][0], number, term, written)

        return steps.node(edge, self.emitter.book, f"{self.name}_members")

    def _edge(self, key: Node, number: int, term: Term, written: bool) -> Node:
        """A member, behind a comma if it is not the first; a rule of its own where it stands on many edges."""
        found = self._edges.get((number, term, written))
        if found is None:
            found = self.member(key, term)
            if len(self.members.needs) + self.members.least + (self.members.most or 0) > 1:
                found = self.emitter.book.add(f"{self.name}_member", found)
            self._edges[number, term, False] = found
            self._edges[number, term, True] = seq((self.layout.comma(self.level), found))
        return self._edges[number, term, written]


def fields_in_order(named: list[tuple[Node, bool]], others: list[Node], comma: Node, begun: bool = False) -> Node:
    """Members in order, each with whether it is required, then any number of others; one at least.

    `begun`: one stands in front of them, and there may be none.
    """
    other = choice(others)
    more = repeat(seq((comma, other)), 0, None)

    def after(low: int, high: int) -> Node:
        """Members `low` to `high`, each behind a comma."""
        return seq([repeat(seq((comma, member)), 1 if required else 0, 1) for member, required in named[low:high]])

    if begun:
        return seq((after(0, len(named)), more))
    first = next((i for i, (_, required) in enumerate(named) if required), None)
    if first is not None:
        before = seq([repeat(seq((member, comma)), 0, 1) for member, _ in named[:first]])
        return seq((before, named[first][0], after(first + 1, len(named)), more))

    def some(low: int, high: int) -> Node:
        """One or more of the members `low` to `high`, all optional: k log k long, not k squared."""
        if high - low == 1:
            return named[low][0]
        middle = (low + high) // 2
        return choice((seq((some(low, middle), after(middle, high))), some(middle, high)))

    options = [seq((some(0, len(named)), more))] if named else []
    options.append(seq((other, more)))
    return choice(options)
