"""Active states within edges: each has a plate in the picture, on its edge, wherever the parser stands."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.inspect.snapshots import Automaton
from tests.visualizers import fixtures
from visualizers.folds import Folds
from visualizers.geometry import along
from visualizers.inside import HEIGHT, Inside, Spot, spots, width
from visualizers.layout import PADDING, TITLE, Engine, Layouts, Plan, plan
from visualizers.marks import Marks, marks
from visualizers.scene import Request, edge_id, scene

LAYOUTS: dict[Engine, Layouts] = {"built-in": Layouts("built-in"), "dot": Layouts("dot")}


@pytest.fixture(params=LAYOUTS)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "dot":
        request.getfixturevalue("dot")
    found: Engine = request.param
    return found


def shown(automaton: Automaton, active: tuple[int, ...], engine: Engine) -> tuple[Folds, Plan, Marks]:
    folds = Folds(automaton)
    chosen = scene(folds, Request(active=active))
    return folds, plan(chosen, LAYOUTS[engine]), marks(folds, chosen, active)


class TestSpots:
    """Where plates lie."""

    @pytest.mark.parametrize("automaton", [fixtures.automaton(), fixtures.chain(1, 40, back=30)])
    def test_every_state_is_a_circle_or_has_a_plate_within_its_panel(
        self, automaton: Automaton, engine: Engine
    ) -> None:
        for rule in automaton.rules:
            for state in rule.states:
                _, drawn, lit = shown(automaton, (state.id,), engine)
                lying = spots(drawn, lit.inside)
                circle = f"s{state.id}" in lit.active
                assert bool(lying) != circle, state.id
                panels = {placed.panel.rule: placed for placed in drawn.placed}
                for spot in lying:
                    assert spot.state == state.id
                    placed = panels[spot.rule]
                    assert -PADDING <= spot.x <= placed.width - PADDING
                    assert -TITLE <= spot.y <= placed.height - TITLE - PADDING

    def test_a_plate_is_beside_its_edge_as_far_along_as_the_edge_is_read(self, engine: Engine) -> None:
        automaton = fixtures.chain(1, 40, back=30)
        found: list[Spot] = []
        for state in (6, 7, 8, 9):
            folds, drawn, lit = shown(automaton, (state,), engine)
            (spot,) = spots(drawn, lit.inside)
            (place,) = folds.rule(0).places[state]
            folded, (placed,) = folds.rule(0), drawn.placed
            name = edge_id(folded.edges[place.edge], place.edge, folded)
            (curve,) = (one for one in placed.drawing.curves if place.edge in one.edge.edges)
            assert lit.inside == (Inside(state, name, place.offset),)
            line, _ = along(curve.points)
            assert min(math.dist(point, (spot.x, spot.y)) for point in line) <= HEIGHT + 4
            found.append(spot)
        assert all(one.x < other.x for one, other in pairwise(found))

    def test_plates_of_one_edge_lie_beside_each_other(self, engine: Engine) -> None:
        _, drawn, lit = shown(fixtures.chain(1, 40, back=30), (6, 7, 8, 9), engine)
        lying = sorted(spots(drawn, lit.inside), key=lambda spot: spot.x)
        assert [spot.state for spot in lying] == [6, 7, 8, 9]
        room = max(spot.x for spot in lying) - min(spot.x for spot in lying)
        for one, other in pairwise(lying):
            assert other.x - one.x >= min(width(6), room / 3) - 0.1

    def test_a_state_within_characters_that_are_not_made_yet_has_a_plate(self, engine: Engine) -> None:
        info = TokenizerInfo([bytes([byte]) for byte in range(256)] + [b"</s>"], stop_token_ids=[256])
        compiled = GrammarCompiler(info).compile_grammar(Grammar.from_ebnf('root ::= [^a-z]+ "x"'))
        matcher = GrammarMatcher(compiled)
        assert matcher.accept_string(b"\xf0")  # the first byte of four
        automaton, active = compiled.automaton(), matcher.frontier().active_states()
        _, drawn, lit = shown(automaton, active, engine)
        begun = [one.element for one in lit.inside if one.element.startswith("begun")]
        assert begun
        assert {spot.state for spot in spots(drawn, lit.inside)} == set(active)


def test_what_a_picture_does_not_draw_has_no_plate() -> None:
    drawn = plan(scene(Folds(fixtures.automaton()), Request()), Layouts("built-in"))
    assert spots(drawn, [Inside(1, "e900-901-0", 1), Inside(1, "begun900", 0)]) == ()


def test_a_curve_as_a_line() -> None:
    line, length = along(((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (3.0, 1.0), (3.0, 2.0), (3.0, 3.0)))
    assert line[0] == (0.0, 0.0)
    assert line[-1] == (3.0, 3.0)
    assert (3.0, 0.0) in line
    assert length == pytest.approx(6.0)
