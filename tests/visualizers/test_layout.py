"""Who lays out, what is folded, and that every engine keeps the promises the picture rests on."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, AutomatonState, RuleAutomaton
from tests.visualizers import fixtures
from visualizers import layout
from visualizers.dot import GraphEdge, RuleGraph, call_graph, repeat_label, rule_graph, rule_title, to_dot
from visualizers.geometry import ENTRY, RADIUS, Drawing, Sketch, sketch_calls, sketch_rule
from visualizers.layered import layered

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="no dot program: apt-get install graphviz")


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def borrowed_pygraphviz(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """pygraphviz's two calls, answered by the real `dot`, for machines that lack the package."""
    program = shutil.which("dot")
    if program is None:
        pytest.skip("no dot program: apt-get install graphviz")

    class AGraph:
        def __init__(self, string: str) -> None:
            self.source = string

        def draw(self, *, format: str, prog: str) -> bytes:
            command = [program, f"-T{format}"]
            return subprocess.run(command, input=self.source.encode(), capture_output=True, check=True).stdout

        def close(self) -> None:
            self.source = ""

    module = types.ModuleType("pygraphviz")
    module.AGraph = AGraph  # type: ignore[attr-defined]
    module.__spec__ = types.SimpleNamespace(name="pygraphviz")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "pygraphviz", module)
    return module


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
    assert {(c.edge.source, c.edge.target) for c in drawing.curves} == {(e.source, e.target) for e in sketch.edges}
    for curve in drawing.curves:
        assert len(curve.points) % 3 == 1
        assert (curve.label is not None) == bool(curve.edge.lines)
        for name, point in ((curve.edge.source, curve.points[0]), (curve.edge.target, curve.points[-1])):
            distance = math.dist(point, drawing.nodes[name])
            if sketch.round and name != ENTRY:
                assert distance == pytest.approx(RADIUS, abs=1.5), f"{curve.edge.source} -> {curve.edge.target}"
            else:
                assert distance <= math.hypot(*sketch.sizes[name]) / 2 + 1.5


def _all_engines(sketches: list[Sketch]) -> None:
    for name, engine in layout._ENGINES.items():
        if name == "built-in" or (name == "dot" and shutil.which("dot")):
            for sketch, drawing in zip(sketches, engine(sketches, 10), strict=True):
                _check(sketch, drawing)


def test_the_example_is_laid_out_by_every_engine() -> None:
    automaton = fixtures.automaton()
    _all_engines([sketch_rule(rule_graph(rule)) for rule in automaton.rules])
    _all_engines([sketch_calls(call_graph(automaton, 100)[0])])


def test_the_three_ways_in_their_order(monkeypatch: pytest.MonkeyPatch, borrowed_pygraphviz: types.ModuleType) -> None:
    assert layout.available_engines() == ("dot", "pygraphviz", "built-in")
    assert layout.plan(fixtures.automaton()).engine == "dot"
    monkeypatch.setattr(layout.shutil, "which", lambda name: None)
    assert layout.available_engines() == ("pygraphviz", "built-in")
    drawn = layout.plan(fixtures.automaton())
    assert drawn.engine == "pygraphviz"
    for panel in drawn.panels:
        _check(panel.sketch, panel.drawing)


def test_without_any_graphviz_there_is_still_a_picture(no_dot: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout.importlib.util, "find_spec", lambda name: None)
    drawn = layout.plan(fixtures.automaton())
    assert (drawn.engine, drawn.note) == ("built-in", "")
    assert len(drawn.panels) == 5


def test_the_real_pygraphviz_when_it_is_there(no_dot: None) -> None:
    pytest.importorskip("pygraphviz")
    drawn = layout.plan(fixtures.automaton(), engine="pygraphviz")
    for panel in drawn.panels:
        _check(panel.sketch, panel.drawing)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 20", "took longer than 0.3 s"),
        ("echo broken >&2; exit 3", "status 3: broken"),
        ("echo stop", "answered 1 graphs where 5 were asked"),
    ],
)
def test_a_failing_dot_is_said_and_the_next_engine_draws(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _program(tmp_path, script)
    monkeypatch.setenv("PATH", os.pathsep.join((path, os.environ["PATH"])))
    drawn = layout.plan(fixtures.automaton(), timeout=0.3)
    assert drawn.engine != "dot"
    assert said in drawn.note
    with pytest.raises(layout.LayoutError, match=said):
        layout.plan(fixtures.automaton(), engine="dot", timeout=0.3)


def test_an_engine_asked_for_by_name_must_be_there(no_dot: None) -> None:
    with pytest.raises(layout.LayoutError, match="no `dot` program on PATH"):
        layout.plan(fixtures.automaton(), engine="dot")
    with pytest.raises(ValueError, match="engine is 'neato'"):
        layout.plan(fixtures.automaton(), engine="neato")  # type: ignore[arg-type]


def test_large_rules_get_limits_and_small_ones_do_not() -> None:
    small, large = (layout._layout_dot(sketch_rule(rule_graph(fixtures.chain(1, n).rules[0]))) for n in (20, 200))
    assert "nslimit" not in small
    assert "nslimit" in large
    assert "nslimit" in to_dot(fixtures.chain(10, 20))
    assert "nslimit" not in to_dot(fixtures.chain(3, 20))


@needs_dot
def test_four_hundred_states_do_not_freeze() -> None:
    drawn = layout.plan(fixtures.chain(1, 400), engine="dot", timeout=20)
    assert drawn.expanded == (0,)


def test_the_built_in_layout_holds_four_hundred_states() -> None:
    drawn = layout.plan(fixtures.chain(2, 200, back=1), engine="built-in")
    for panel in drawn.panels:
        _check(panel.sketch, panel.drawing)


class TestFolding:
    """Past `max_states` rules become nodes, and are expanded on request."""

    def test_small_automata_are_drawn_whole(self) -> None:
        drawn = layout.plan(fixtures.chain(10, 40))
        assert (len(drawn.expanded), drawn.folded) == (10, ())

    def test_large_automata_are_folded_with_a_note(self) -> None:
        drawn = layout.plan(fixtures.chain(11, 40))
        assert drawn.expanded == ()
        assert len(drawn.folded) == 11
        assert "440 states: folded by rule (more than 400)" in drawn.note
        (panel,) = drawn.panels
        assert panel.rule is None
        assert set(panel.graph.nodes) == {f"r{k}" for k in range(11)}

    def test_rules_are_expanded_beside_the_call_graph(self) -> None:
        drawn = layout.plan(fixtures.chain(11, 40), rules=["rule_3", "rule_0"])
        assert drawn.expanded == (0, 3)
        assert [panel.rule for panel in drawn.panels] == [None, 0, 3]

    def test_too_much_is_refused(self) -> None:
        automaton = fixtures.chain(11, 40)
        with pytest.raises(ValueError, match=r"'rule_0', 'rule_1', 'rule_2', \.\.\.: 440 states are more"):
            layout.plan(automaton, rules=[rule.rule for rule in automaton.rules])
        with pytest.raises(ValueError, match="no rule is called 'other'"):
            layout.plan(automaton, rules=["other"])
        assert len(layout.plan(automaton, max_states=500, engine="built-in").expanded) == 11

    def test_thousands_of_rules_show_those_nearest_to_the_root(self) -> None:
        drawn = layout.plan(fixtures.chain(1_000, 3), engine="built-in")
        (panel,) = drawn.panels
        assert set(panel.graph.nodes) == {f"r{k}" for k in range(layout.MAX_RULES)}
        assert "the 400 rules nearest to the root of 1,000" in drawn.note


@st.composite
def graphs(draw: st.DrawFn) -> RuleGraph:
    """Any directed graph: cycles, loops, islands, parallel ways."""
    nodes = [f"s{i}" for i in range(draw(st.integers(1, 14)))]
    pairs = draw(st.sets(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=30))
    label = st.lists(st.text("ab漢", max_size=6).filter(bool), max_size=2).map(tuple)
    edges = tuple(GraphEdge(a, b, draw(label), "", draw(st.booleans())) for a, b in sorted(pairs))
    return RuleGraph(tuple(nodes), {node: node for node in nodes}, edges, draw(st.sampled_from([None, *nodes])))


@given(graphs(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_built_in_layout_takes_any_graph(graph: RuleGraph, as_calls: bool) -> None:
    sketch = sketch_calls(graph) if as_calls else sketch_rule(graph)
    drawing = layered(sketch)
    _check(sketch, drawing)
    assert layered(sketch) == drawing


@needs_dot
@given(st.lists(graphs(), min_size=4, max_size=4))
@settings(max_examples=12, deadline=None)
def test_dot_takes_any_graph(several: list[RuleGraph]) -> None:
    sketches = [sketch_rule(graph) for graph in several] + [sketch_calls(graph) for graph in several]
    for sketch, drawing in zip(sketches, layout._by_dot(sketches, 10), strict=True):
        _check(sketch, drawing)


def test_panels_do_not_overlap_and_keep_their_order() -> None:
    drawn = layout.plan(fixtures.chain(9, 11), engine="built-in")
    for i, one in enumerate(drawn.panels):
        assert one.x + one.width <= drawn.width + 0.01
        assert one.y + one.height <= drawn.height + 0.01
        for other in drawn.panels[i + 1 :]:
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert beside or one.y + one.height <= other.y
    assert [(panel.y, panel.x) for panel in drawn.panels] == sorted((panel.y, panel.x) for panel in drawn.panels)


class TestDot:
    """The DOT text of a whole automaton."""

    def test_ids_clusters_and_marks(self) -> None:
        text = to_dot(fixtures.automaton())
        for number in range(17):
            assert text.count(f'id="s{number}"') == 1
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
        assert all(f'id="s{number}"' in svg for number in range(17))

    @needs_dot
    @given(st.text(max_size=12), st.text(max_size=12))
    @settings(max_examples=15, deadline=None)
    def test_hostile_names_stay_names(self, rule: str, dots: str) -> None:
        state = AutomatonState(0, rule, True, False, (dots,))
        edge = AutomatonEdge(0, 0, "call", rule, (), rule)
        automaton = Automaton((RuleAutomaton(rule, 0, (state,), (edge,), None, None),), rule, "")
        command = ["dot", "-Tplain"]
        done = subprocess.run(command, input=to_dot(automaton).encode(), capture_output=True, timeout=20, check=True)
        assert b"error" not in done.stderr
        assert done.stdout.decode().count("\nnode ") == 2

    def test_parallel_edges_become_one_arrow(self) -> None:
        graph = rule_graph(fixtures.automaton().rules[2])
        (edge,) = graph.edges
        assert edge == GraphEdge("s7", "s8", ("string", "list"), "string\nlist", True)

    def test_long_labels_are_cut_and_kept_in_full(self) -> None:
        rule = fixtures.automaton().rules[0]
        calls = tuple(AutomatonEdge(0, 1, "call", "", (), f"rule_{'x' * 40}_{i}") for i in range(9))
        (edge,) = rule_graph(replace(rule, edges=calls)).edges
        assert len(edge.lines) == 4
        assert edge.lines[-1] == "+6 more"
        assert len(edge.full.splitlines()) == 9

    def test_broken_automata_are_refused(self) -> None:
        rule = fixtures.automaton().rules[0]
        with pytest.raises(ValueError, match="rule 'root': edge 0 -> 99 names no state"):
            rule_graph(replace(rule, edges=(AutomatonEdge(0, 99, "call", "x", (), "x"),)))
        with pytest.raises(ValueError, match="its start 7 is no state"):
            rule_graph(replace(rule, start=7))

    def test_repeat_labels(self) -> None:
        assert [repeat_label(repeat) for repeat in (None, (0, 8), (2, None))] == ["", "{0,8}", "{2,}"]
        rule = fixtures.automaton().rules[4]
        assert rule_title(rule) == ("char", "{0,8}")
        assert rule_title(replace(rule, rule="char{0,8}")) == ("char", "{0,8}")
