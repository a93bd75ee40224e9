"""A scene as DOT: what Graphviz is given, that it takes it, and what is said where it is missing or fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, AutomatonState, RuleAutomaton
from tests.visualizers import fixtures
from visualizers import dot
from visualizers.dot import arrow_data, map_dot, panel_dot, repeat_label, rule_title, scene_dot
from visualizers.fold import Folds
from visualizers.live_automaton import AutomatonView
from visualizers.marks import Inside, marks
from visualizers.scene import Graph, Request, Scene, rules_graph, scene
from visualizers.svg import automaton_html, automaton_pdf, to_svg

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


def _whole(automaton: Automaton, mode: str = "characters") -> Scene:
    return scene(Folds(automaton, mode), Request(whole=True))  # type: ignore[arg-type]


def _read(source: str) -> list[dict[str, Any]]:
    """What `dot` understands of some graphs, one after the other."""
    text, decoder, found = dot.run(source, "json").decode(), json.JSONDecoder(), []
    while text := text.strip():
        one, end = decoder.raw_decode(text)
        found.append(one)
        text = text[end:]
    return found


class TestFiles:
    """Pictures in files, which the program `dot` writes."""

    def test_without_graphviz_there_is_the_table_and_it_says_so(self, no_dot: None) -> None:
        with pytest.raises(dot.DotError, match="no `dot` program on PATH"):
            to_svg(fixtures.automaton())
        said = automaton_html(fixtures.automaton())
        assert "not drawn: no `dot` program on PATH (Debian: apt-get install graphviz)" in said
        assert "<img" not in said
        assert "<details open>" in said
        assert "char" in said

    @pytest.mark.parametrize(
        ("script", "said"),
        [("exec sleep 20", "took longer than 0.3 s"), ("echo broken >&2; exit 3", "status 3: broken")],
    )
    def test_a_failing_dot_is_said(
        self, script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = _program(tmp_path, script)
        monkeypatch.setenv("PATH", os.pathsep.join((path, os.environ["PATH"])))
        with pytest.raises(dot.DotError, match=said):
            to_svg(fixtures.automaton(), timeout=0.3)

    @needs_dot
    def test_a_view_is_saved_as_a_page_and_as_a_picture(self, tmp_path: Path) -> None:
        view = AutomatonView(fixtures.automaton())
        view.show(fixtures.frontiers()[1])
        assert b"%PDF" in view.save(tmp_path / "a.pdf").read_bytes()[:8]
        assert 'class="node state scannable active"' in view.save(tmp_path / "a.svg").read_text()
        assert "<!doctype html>" in view.save(tmp_path / "a.html").read_text()
        assert automaton_pdf(fixtures.automaton())[:4] == b"%PDF"

    @needs_dot
    def test_a_page_carries_graphviz_only_where_it_has_to_draw(self, monkeypatch: pytest.MonkeyPatch) -> None:
        view = AutomatonView(fixtures.automaton())
        view.play(fixtures.frontiers())
        drawn = view.part()
        assert not drawn["needs"]
        pictures = [drawn["state"]["picture"], *drawn["state"]["pictures"].values()]
        assert all(panel["svg"].startswith("<svg") for picture in pictures for panel in picture["panels"])
        small = len(view.to_html())
        monkeypatch.setenv("PATH", "")
        assert view.part()["needs"] == ("graphviz",)
        assert len(view.to_html()) > small + 500_000
        assert "<iframe" not in view._repr_mimebundle_()[0]["text/html"]


class TestPanels:
    """What the browser gets."""

    @needs_dot
    @pytest.mark.parametrize("mode", ["characters", "bytes"])
    def test_every_state_and_arrow_is_there(self, mode: str) -> None:
        panels = _whole(fixtures.automaton(), mode).panels
        for panel, graph in zip(panels, _read("".join(map(panel_dot, panels))), strict=True):
            names = {node["name"]: node for node in graph["objects"]}
            assert set(panel.graph.nodes) <= set(names)
            for name, text in panel.graph.nodes.items():
                assert (names[name]["id"], names[name]["label"]) == (name, text)
            edges = {edge["id"]: edge for edge in graph["edges"] if "id" in edge}
            told = arrow_data(panel)
            assert set(edges) == {f"a{number}" for number in range(len(told))}
            by_number = {node["_gvid"]: node["name"] for node in graph["objects"]}
            for number, arrow in enumerate(told):
                edge = edges[f"a{number}"]
                assert (by_number[edge["tail"]], by_number[edge["head"]]) == (arrow["from"], arrow["to"])
                rows = [
                    "".join(text for _, text, _ in row) for label in arrow.get("labels", ()) for row in label["rows"]
                ]
                lines = panel.graph.arrows[number].lines
                assert tuple(rows) == lines[: len(rows)]

    def test_large_graphs_get_limits_and_small_ones_do_not(self) -> None:
        small, large = (panel_dot(_whole(fixtures.chain(1, n), "bytes").panels[0]) for n in (20, 200))
        assert "nslimit" not in small
        assert "nslimit" in large
        assert "nslimit" in scene_dot(_whole(fixtures.chain(9, 40), "bytes"))
        assert "nslimit" not in scene_dot(_whole(fixtures.chain(3, 20)))

    @needs_dot
    def test_the_map_of_rules(self) -> None:
        folds = Folds(fixtures.automaton())
        graph = rules_graph(folds)
        (read,) = _read(map_dot(graph))
        assert {node["id"] for node in read["objects"]} == set(graph.nodes)
        assert len(read["edges"]) == len(graph.arrows)


class TestInside:
    """Active states without a circle: what they lie within, and how far along."""

    @pytest.mark.parametrize("automaton", [fixtures.automaton(), fixtures.chain(1, 40, back=30)])
    def test_every_state_is_a_circle_or_lies_within_an_element(self, automaton: Automaton) -> None:
        folds = Folds(automaton)
        for state in folds.owner:
            chosen = scene(folds, Request(active=(state,)))
            lit = marks(folds, chosen, (state,))
            assert bool(lit.inside) != (f"s{state}" in lit.active), state
            labels = {one["id"] for panel in chosen.panels for a in arrow_data(panel) for one in a.get("labels", ())}
            assert all(one.element in labels and 0 < one.share < 1 for one in lit.inside)

    def test_further_along_is_a_larger_share(self) -> None:
        folds = Folds(fixtures.chain(1, 40, back=30))
        chosen = scene(folds, Request(active=(6, 7, 8, 9)))
        shares = [one.share for one in marks(folds, chosen, (6, 7, 8, 9)).inside]
        assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8])

    def test_a_state_within_characters_that_are_not_made_yet(self) -> None:
        info = TokenizerInfo([bytes([byte]) for byte in range(256)] + [b"</s>"], stop_token_ids=[256])
        compiled = GrammarCompiler(info).compile_grammar(Grammar.from_ebnf('root ::= [^a-z]+ "x"'))
        matcher = GrammarMatcher(compiled)
        assert matcher.accept_string(b"\xf0")  # the first byte of four
        active, folds = matcher.frontier().active_states(), Folds(compiled.automaton())
        lit = marks(folds, scene(folds, Request(active=active)), active)
        begun = [one for one in lit.inside if one.element.startswith("begun")]
        assert begun == [Inside(one.state, one.element, 0.5, one.rule) for one in begun]
        assert {one.state for one in lit.inside} == set(active)


class TestDot:
    """The DOT text of a whole automaton."""

    def test_ids_clusters_and_marks(self) -> None:
        text = scene_dot(_whole(fixtures.automaton()))
        for number in (0, 1, 2, 3, 6, 9, 13, 16):
            assert text.count(f'id="s{number}" ') == 1, number
        assert text.count("subgraph cluster_") == 5
        assert 'label="char  {0,8}"' in text
        assert text.count("doublecircle") == 5
        assert 'class="state accepting"' in text
        assert 'style="dashed"' in text

    @needs_dot
    @given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), st.text(max_size=12))
    @settings(max_examples=15, deadline=None)
    def test_hostile_names_stay_names(self, rule: str, dots: str) -> None:
        state = AutomatonState(0, rule, True, False, (dots,))
        edge = AutomatonEdge(0, 0, "call", rule, (), rule)
        automaton = Automaton((RuleAutomaton(rule, 0, (state,), (edge,), None, None),), rule, "")
        command, text = ["dot", "-Tplain"], scene_dot(_whole(automaton)).encode()
        done = subprocess.run(command, input=text, capture_output=True, timeout=20, check=True)
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

    def test_rules_of_one_name_say_where_they_stand(self) -> None:
        """With `%ignore` the engine makes three rules of one of Lark's."""
        rule = replace(fixtures.automaton().rules[0], repeat=None)
        names = ("start.text", "start.first", "start")

        def written(name: str) -> str:
            return name.partition(".")[0]

        titles = [rule_title(replace(rule, rule=name), written) for name in names]
        assert titles == [("start", "the whole text"), ("start", "where the text begins"), ("start", "")]
        dot = map_dot(Graph({f"r{number}": name for number, name in enumerate(names)}, ()), written=written)
        assert dot.count('label="start"') == 3
        assert [f'tooltip="{" ".join(title).rstrip()}"' in dot for title in titles] == [True] * 3
