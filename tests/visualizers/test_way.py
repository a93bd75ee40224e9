"""The way of a text through its automaton: what was read, which calls came back, which are under way."""

from __future__ import annotations

from collections.abc import Iterable

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.inspect.forest import engine
from kernels_core.inspect.snapshots import Automaton
from visualizers.fold import Folds
from visualizers.marks import Marks, marks
from visualizers.scene import Request, scene
from visualizers.way import Travelled, travelled

INFO = TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])
GRAMMAR = r"""root ::= item (", " item)* ";"
item ::= "x" number | "y(" root ")" | "z" number "z"
number ::= digits
digits ::= [0-9]+ "." [0-9]+
"""


class Walk:
    """A matcher, and the way of what it has read."""

    def __init__(self, grammar: str) -> None:
        self.compiled = GrammarCompiler(INFO).compile_grammar(grammar)
        self.matcher = GrammarMatcher(self.compiled)

    @property
    def automaton(self) -> Automaton:
        return self.compiled.automaton()

    def read(self, text: str) -> Travelled:
        assert self.matcher.accept_string(text)
        return self.here()

    def here(self) -> Travelled:
        forest = engine(self.compiled)
        forest.seek(self.matcher.steps())
        return travelled(forest)

    def marks(self, way: Travelled) -> Marks:
        folds = Folds(self.automaton)
        active = self.matcher.frontier().active_states()
        return marks(folds, scene(folds, Request(active=active, whole=True)), active, way)

    def written(self, ids: Iterable[str]) -> set[str]:
        """Edge ids as the labels of their edges."""
        from visualizers.labels import full_text
        from visualizers.scene import edge_id

        folds = Folds(self.automaton)
        found = {}
        for start in folds.rules:
            folded = folds.rule(start)
            found |= {edge_id(edge, k, folded): full_text(edge) for k, edge in enumerate(folded.edges)}
        return {found[name] for name in ids if name in found}


def test_nothing_is_travelled_at_the_beginning() -> None:
    walk = Walk(GRAMMAR)
    assert walk.here() == Travelled()


def test_only_what_was_read_is_lit() -> None:
    walk = Walk(GRAMMAR)
    lit = walk.marks(walk.read("x1"))
    read = walk.written(lit.visited)
    assert any(text.startswith("x") for text in read)
    assert not any(text.startswith(("y", "z")) for text in read)


def test_calls_under_way_are_told_outermost_first_and_end() -> None:
    walk = Walk(GRAMMAR)
    inside = walk.read("y(y(x1.5, y(")
    owner = {state.id: rule.rule for rule in walk.automaton.rules for state in rule.states}
    assert inside.waiting
    assert owner[inside.waiting[0][0]] == "root"
    deep = len(inside.waiting)
    after = walk.read("x2.5;););")
    assert len(after.waiting) < deep
    assert inside.states <= after.states


def test_going_back_is_as_if_one_had_never_gone_on() -> None:
    walk = Walk(GRAMMAR)
    first = walk.read("y(x1")
    for more in ("2.5", ".5, z", ".7;)"):
        walk.read(more)
        walk.matcher.rollback(1)
        assert walk.here() == first
    fresh = Walk(GRAMMAR)
    assert fresh.read("y(x1") == first


def test_an_ambiguous_text_lights_every_reading() -> None:
    walk = Walk('root ::= expr\nexpr ::= expr "+" expr | expr "*" expr | [0-9]+')
    read = walk.written(walk.marks(walk.read("1+2*3")).visited)
    assert {"[0-9]"} < read
