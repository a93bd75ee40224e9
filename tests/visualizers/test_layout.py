"""Who lays out, what is folded, and that every engine keeps the promises the picture rests on."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, AutomatonState, RuleAutomaton
from tests.visualizers import fixtures
from visualizers import dot, layout
from visualizers.dot import repeat_label, rule_title, to_dot
from visualizers.folds import Folds
from visualizers.geometry import ENTRY, RADIUS, Drawing, Sketch, sketch
from visualizers.graph import Arrow, Graph
from visualizers.layered import layered
from visualizers.scene import Request, Scene, rules_graph, scene

needs_dot = pytest.mark.usefixtures("dot")


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


def _program(folder: Path, text: str) -> str:
    """A folder whose `dot` is a shell script."""
    script = folder / "dot"
    script.write_text(f"#!{shutil.which('sh')}\n{text}\n")
    script.chmod(0o755)
    return str(folder)


def _check(sketch: Sketch, drawing: Drawing) -> None:
    """Every node is placed inside the frame and apart; every arrow ends where its nodes do."""
    assert set(drawing.nodes) == set(sketch.sizes)
    places = list(drawing.nodes.items())
    for i, (name, (x, y)) in enumerate(places):
        width, height = sketch.sizes[name]
        assert width / 2 - 0.6 <= x <= drawing.width - width / 2 + 0.6
        assert height / 2 - 0.6 <= y <= drawing.height - height / 2 + 0.6
        for other, (x2, y2) in places[i + 1 :]:
            other_width, other_height = sketch.sizes[other]
            apart = abs(x - x2) >= (width + other_width) / 2 - 1 or abs(y - y2) >= (height + other_height) / 2 - 1
            assert apart, f"{name} and {other} overlap"
    assert sorted(map(repr, (c.edge for c in drawing.curves))) == sorted(map(repr, sketch.edges))
    for curve in drawing.curves:
        assert len(curve.points) % 3 == 1
        assert (curve.label is not None) == bool(curve.edge.lines)
        for name, point in ((curve.edge.source, curve.points[0]), (curve.edge.target, curve.points[-1])):
            distance = math.dist(point, drawing.nodes[name])
            if name not in sketch.boxes and name != ENTRY:
                assert distance == pytest.approx(RADIUS, abs=1.5), f"{curve.edge.source} -> {curve.edge.target}"
            else:
                assert distance <= math.hypot(*sketch.sizes[name]) / 2 + 1.5


def _whole(automaton: Automaton, mode: str = "characters") -> Scene:
    return scene(Folds(automaton, mode), Request(whole=True))  # type: ignore[arg-type]


def _both_engines(sketches: list[Sketch]) -> None:
    for drawing, one in zip([layered(one) for one in sketches], sketches, strict=True):
        _check(one, drawing)
    if shutil.which("dot"):
        for one, drawing in zip(sketches, dot.lay_out(sketches, 10), strict=True):
            _check(one, drawing)


def test_the_example_is_laid_out_by_both_engines() -> None:
    automaton = fixtures.automaton()
    _both_engines([sketch(panel.graph) for panel in _whole(automaton).panels])
    _both_engines([sketch(panel.graph) for panel in _whole(automaton, "bytes").panels])
    _both_engines([sketch(rules_graph(Folds(automaton)))])


@needs_dot
def test_dot_is_asked_first() -> None:
    assert layout.available_engines() == ("dot", "built-in")
    drawn = layout.plan(_whole(fixtures.automaton()))
    assert (drawn.engine, drawn.note) == ("dot", "")


def test_without_graphviz_there_is_still_a_picture_that_says_so(no_dot: None) -> None:
    assert layout.available_engines() == ("built-in",)
    drawn = layout.plan(_whole(fixtures.automaton()))
    assert drawn.engine == "built-in"
    assert "no `dot` program on PATH (Debian: apt-get install graphviz)" in drawn.note
    assert len(drawn.placed) == 5


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 20", "took longer than 0.3 s"),
        ("echo broken >&2; exit 3", "status 3: broken"),
        ("echo '{}'", "answered 1 graphs where 5 were asked"),
        ("echo stop", "answered what is not JSON"),
    ],
)
def test_a_failing_dot_is_said_and_the_built_in_layout_draws(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _program(tmp_path, script)
    monkeypatch.setenv("PATH", os.pathsep.join((path, os.environ["PATH"])))
    drawn = layout.plan(_whole(fixtures.automaton()), layout.Layouts(timeout=0.3))
    assert drawn.engine == "built-in"
    assert said in drawn.note
    with pytest.raises(layout.LayoutError, match=said):
        layout.plan(_whole(fixtures.automaton()), layout.Layouts("dot", timeout=0.3))


def test_an_engine_asked_for_by_name_must_be_there(no_dot: None) -> None:
    with pytest.raises(layout.LayoutError, match="no `dot` program on PATH"):
        layout.plan(_whole(fixtures.automaton()), layout.Layouts("dot"))
    with pytest.raises(ValueError, match="engine is 'neato'"):
        layout.Layouts("neato")  # type: ignore[arg-type]


def test_large_graphs_get_limits_and_small_ones_do_not() -> None:
    small, large = (dot._measured(sketch(_whole(fixtures.chain(1, n), "bytes").panels[0].graph)) for n in (20, 200))
    assert "nslimit" not in small
    assert "nslimit" in large
    assert "nslimit" in to_dot(fixtures.chain(10, 20))
    assert "nslimit" not in to_dot(fixtures.chain(3, 20))


@needs_dot
def test_a_layout_is_made_once() -> None:
    layouts = layout.Layouts()
    drawn = _whole(fixtures.automaton())
    sketches = layout.sketches_of(drawn)
    assert not layouts.known(sketches)
    first = layout.plan(drawn, layouts)
    assert layouts.known(sketches)
    again = layout.plan(drawn, layouts)
    assert [one.drawing for one in again.placed] == [one.drawing for one in first.placed]


def test_the_built_in_layout_holds_four_hundred_states() -> None:
    for panel in _whole(fixtures.chain(2, 190, back=1), "bytes").panels:
        one = sketch(panel.graph)
        _check(one, layered(one))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any directed graph: cycles, loops, islands, parallel ways."""
    nodes = [f"s{i}" for i in range(draw(st.integers(1, 14)))]
    kinds = st.sampled_from(["reads", "call"])
    triples = draw(st.sets(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes), kinds), max_size=30))
    label = st.lists(st.text("ab漢", max_size=6).filter(bool), max_size=2).map(tuple)
    looped: set[str] = set()
    arrows = []
    for number, (a, b, kind) in enumerate(sorted(triples)):
        if a == b and a in looped:
            continue  # a state has one loop
        looped |= {a} if a == b else set()
        arrows.append(Arrow(a, b, draw(label), kind, (number,)))
    boxes = frozenset(nodes) if draw(st.booleans()) else frozenset()
    return Graph({node: node for node in nodes}, tuple(arrows), draw(st.sampled_from([None, *nodes])), boxes)


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_the_built_in_layout_takes_any_graph(graph: Graph) -> None:
    one = sketch(graph)
    drawing = layered(one)
    _check(one, drawing)
    assert layered(one) == drawing


@needs_dot
@given(st.lists(graphs(), min_size=6, max_size=6))
@settings(max_examples=12, deadline=None)
def test_dot_takes_any_graph(several: list[Graph]) -> None:
    sketches = [sketch(graph) for graph in several]
    for one, drawing in zip(sketches, dot.lay_out(sketches, 10), strict=True):
        _check(one, drawing)


def test_panels_do_not_overlap_and_keep_their_order() -> None:
    drawn = layout.plan(_whole(fixtures.chain(9, 11)), layout.Layouts("built-in"))
    for i, one in enumerate(drawn.placed):
        assert one.x + one.width <= drawn.width + 0.01
        assert one.y + one.height <= drawn.height + 0.01
        for other in drawn.placed[i + 1 :]:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert beside or one.y + one.height <= other.y
    assert [(one.y, one.x) for one in drawn.placed] == sorted((one.y, one.x) for one in drawn.placed)


class TestDot:
    """The DOT text of a whole automaton."""

    def test_ids_clusters_and_marks(self) -> None:
        text = to_dot(fixtures.automaton())
        for number in (0, 1, 2, 3, 6, 9, 13, 16):
            assert text.count(f"id=s{number} ") == 1, number
        assert text.count("subgraph cluster_") == 5
        assert 'label="char {0,8}"' in text
        assert text.count("doublecircle") == 5
        assert 'class="state accepting"' in text
        assert "style=dashed" in text

    @needs_dot
    def test_dot_reads_it_and_keeps_the_ids(self) -> None:
        source = to_dot(fixtures.automaton())
        done = subprocess.run(["dot", "-Tsvg"], input=source.encode(), capture_output=True, timeout=20, check=True)
        assert b"syntax error" not in done.stderr
        svg = done.stdout.decode()
        assert all(f'id="s{number}"' in svg for number in (0, 1, 2, 3, 6, 9, 13, 16))

    @needs_dot
    @given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), st.text(max_size=12))
    @settings(max_examples=15, deadline=None)
    def test_hostile_names_stay_names(self, rule: str, dots: str) -> None:
        state = AutomatonState(0, rule, True, False, (dots,))
        edge = AutomatonEdge(0, 0, "call", rule, (), rule)
        automaton = Automaton((RuleAutomaton(rule, 0, (state,), (edge,), None, None),), rule, "")
        command = ["dot", "-Tplain"]
        done = subprocess.run(command, input=to_dot(automaton).encode(), capture_output=True, timeout=20, check=True)
        assert b"error" not in done.stderr
        assert done.stdout.decode().count("\nnode ") == 2

    def test_repeat_labels(self) -> None:
        assert [repeat_label(repeat) for repeat in (None, (0, 8), (2, None))] == ["", "{0,8}", "{2,}"]
        rule = fixtures.automaton().rules[4]
        assert rule_title(rule) == ("char", "{0,8}")
        assert rule_title(replace(rule, rule="char{0,8}")) == ("char", "{0,8}")

    def test_lengths_stand_beside_the_name(self) -> None:
        rule = replace(fixtures.automaton().rules[0], rule="code", repeat=None)
        titles = [rule_title(replace(rule, lengths=lengths)) for lengths in (None, (0, 1_000), (4, 4))]
        assert titles == [("code", ""), ("code", "0 to 1,000 characters"), ("code", "4 characters")]
