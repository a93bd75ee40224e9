"""The live views from Python's side: traits, requests, runs, exports."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ipywidgets import Widget

import visualizers
from tests.visualizers import fixtures
from tests.visualizers.test_static import survives
from visualizers import assets
from visualizers.assets import PARTS, part, script
from visualizers.live_automaton import AutomatonView
from visualizers.live_base import LiveView, StepBar, to_page
from visualizers.live_frontier import FrontierView
from visualizers.live_tokens import MaskMap, TokenTable
from visualizers.operations import OperationView

WIDGET = "application/vnd.jupyter.widget-view+json"


def everything() -> list[LiveView[Any]]:
    """One view of each kind, each with something to show."""
    return [
        AutomatonView(fixtures.automaton()),
        FrontierView(fixtures.frontiers()[1]),
        OperationView(fixtures.operations()),
        TokenTable(fixtures.token_sets()),
        MaskMap(fixtures.token_sets()),
        StepBar(["a", "b"]),
    ]


def packed(page: str) -> Any:
    """What a page carries."""
    found = re.search(r'"state": "([A-Za-z0-9+/=]+)"', page)
    assert found
    return json.loads(zlib.decompress(base64.b64decode(found.group(1))))


def drawn(view: AutomatonView) -> set[str]:
    """The rules that a picture shows."""
    return {panel["name"] for panel in view.picture["panels"]}


def written(view: AutomatonView) -> str:
    """The graphs of a picture, as Graphviz gets them."""
    return "".join(panel["dot"] for panel in view.picture["panels"])


def ask(view: LiveView[Any], **content: Any) -> dict[str, Any]:
    """Send a request as the browser does and return the reply."""
    replies: list[dict[str, Any]] = []
    view.send = replies.append
    view.receive({"view": "v", "seq": 7, **content}, [])
    (reply,) = replies
    assert (reply["view"], reply["seq"]) == ("v", 7)
    return reply


class TestAssets:
    """What travels with every widget stays small and whole."""

    @pytest.mark.parametrize("name", PARTS)
    def test_a_part_needs_nothing(self, name: str) -> None:
        source = script(name)
        assert not re.search(r"\bimport\s*[\"'{*]", source)
        assert not re.search(r"\bfrom\s*[\"']\.?/", source)
        assert name == "editor" or "innerHTML" not in source
        assert zlib.decompress(part(name)).decode() == source

    def test_all_of_it_travels_in_a_megabyte(self) -> None:
        assert sum(len(part(name)) for name in PARTS) < 1_000_000
        assert len(script("widget")) < 2_000

    @pytest.mark.parametrize("view", everything(), ids=lambda view: type(view).__name__)
    def test_a_widget_carries_the_way_to_the_code_and_not_the_code(self, view: LiveView[Any]) -> None:
        other = StepBar(["a"])
        state, beside = view.widget.get_state(), other.widget.get_state()
        assert state["_esm"] == script("widget")
        assert state["library"] == beside["library"]
        assert len(json.dumps({name: value for name, value in state.items() if "__" not in name})) < 6_000
        view.close()
        other.close()

    def test_a_library_that_somebody_closed_is_made_again(self) -> None:
        first, again = StepBar(["a"]), StepBar(["b"])
        library = first.widget.library
        Widget.close_all()
        assert again.widget.library["id"] != library["id"]
        assert again.widget.library["version"] == library["version"]
        again.close()

    def test_without_a_bundle_it_says_what_makes_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(assets, "FOLDER", tmp_path)
        with pytest.raises(FileNotFoundError, match=r"the front end is not built: .*nowhere\.js.*make build"):
            script("nowhere")


class TestAutomaton:
    """AutomatonView: laid out once, then only ids."""

    def test_a_step_sends_ids_only(self) -> None:
        view = AutomatonView(fixtures.automaton())
        changed: list[str] = []
        view.observe(lambda change: changed.append(change["name"]))
        view.show(fixtures.frontiers()[1])
        assert sorted(changed) == ["active", "marks"]
        assert view.active == [2, 3, 7, 9]
        assert view.marks["active"] == ["s2", "s3", "s7", "s9"]

    def test_another_automaton_starts_afresh(self) -> None:
        view = AutomatonView(fixtures.automaton())
        view.play(fixtures.frontiers())
        view.selected = 3
        view.automaton = fixtures.chain(2, 5)
        assert (view.active, view.selected, view.steps) == ([], None, [])
        assert view.about["rules"] == 2
        assert view.automaton.root == "rule_0"
        assert "rule_0" in drawn(view)

    def test_a_large_automaton_is_drawn_around_the_parser(self) -> None:
        automaton = fixtures.chain(30, 40)
        view = AutomatonView(automaton)
        assert 'id="s0"' in written(view)
        view.show(fixtures.at(850))
        assert "rule_21" in drawn(view)
        assert view.marks["active"] or view.marks["on"]
        assert view.picture["shown"] < 60
        assert "s850" in view.marks["active"] or any(places for places in view.marks["on"].values())

    def test_a_step_within_the_picture_keeps_it(self) -> None:
        automaton = fixtures.chain(30, 40)
        view = AutomatonView(automaton)
        view.show(fixtures.at(850))
        key = view.picture["key"]
        view.show(fixtures.at(851))
        assert view.picture["key"] == key

    def test_a_rule_is_opened_alone_and_left_again(self) -> None:
        view = AutomatonView(fixtures.chain(30, 40))
        view.focus = ["rule_7", "rule_8"]
        assert drawn(view) == {"rule_8"}
        view.focus = ["rule_7", "nonsense"]
        assert view.focus == ["rule_7"]
        assert drawn(view) == {"rule_7"}
        view.focus = []
        assert "rule_0" in drawn(view)

    def test_what_is_too_large_as_a_whole_is_a_map_of_its_rules(self) -> None:
        view = AutomatonView(fixtures.chain(30, 40, back=2))
        view.show(fixtures.at(850))
        view.whole = True
        assert next(iter(view.picture["panels"][0]["names"])) == "r0"
        assert written(view).count('class="rulenode') == 30
        assert view.marks["active"] == ["r840"]
        assert "click on a rule to open it" in view.picture["note"]
        view.focus = ["rule_3"]
        assert drawn(view) == {"rule_3"}
        assert view.picture["panels"][0]["title"] == ["rule_3", "", ""]  # all of its states

    def test_of_thousands_of_rules_the_map_shows_those_around_the_parser(self) -> None:
        view = AutomatonView(fixtures.chain(1_000, 3))
        view.show(fixtures.at(1502))
        view.whole = True
        assert written(view).count('class="rulenode') == 60
        assert view.marks["active"] == ["r1500"]
        assert "the 60 rules nearest to the parser" in view.picture["note"]

    def test_states_that_are_not_made_yet_are_marked(self) -> None:
        whole = fixtures.automaton()
        lists = whole.rules[1]
        states = (*lists.states[:2], replace(lists.states[2], made=False))
        edges = tuple(edge for edge in lists.edges if edge.source in (2, 3) and edge.target <= 4)
        young = replace(whole, rules=(whole.rules[0], replace(lists, states=states, edges=edges), *whole.rules[2:]))
        view = AutomatonView(replace(young, waiting=("later",)))
        assert 's4[id="s4" class="state scannable unmade"' in written(view)
        assert view.about["waiting"] == 1
        assert any("not made further yet" in flag for flag in view.describe(4)["flags"])
        view.automaton = replace(whole, waiting=())
        assert "unmade" not in written(view)

    def test_a_picture_says_whether_every_state_is_in_it(self) -> None:
        view = AutomatonView(fixtures.automaton())
        assert view.picture["all"]
        large = AutomatonView(fixtures.chain(1, 190))
        assert 'class="stub"' in written(large)
        assert not large.picture["all"]

    def test_a_grown_automaton_keeps_its_picture_and_marks_what_is_new(self) -> None:
        whole = fixtures.automaton()
        lists = whole.rules[1]
        young = replace(
            lists,
            states=lists.states[:3],
            edges=tuple(edge for edge in lists.edges if max(edge.source, edge.target) <= 4),
        )
        view = AutomatonView(replace(whole, rules=(whole.rules[0], young, *whole.rules[2:])))
        view.show(fixtures.frontiers()[0])
        view.selected = 3
        view.automaton = whole
        assert view.selected == 3
        assert "s6" in view.marks["fresh"]
        view.show(fixtures.frontiers()[1])
        assert 'id="s6"' in written(view)

    def test_a_state_is_described(self) -> None:
        view = AutomatonView(fixtures.automaton())
        state = ask(view, type="state", id=13)["state"]
        assert state["rule"] == "char"
        assert state["flags"][1:] == ["reads bytes"]
        assert state["dots"][0][0] == "char ::="
        assert [target for _, target in state["out"]] == [16, 16]
        assert "no state has the id 999" in ask(view, type="state", id=999)["error"]

    def test_search_finds_rules_states_and_texts(self) -> None:
        view = AutomatonView(fixtures.automaton())
        hits = ask(view, type="search", query="str")["hits"]
        assert ("rule", "string") in [(hit["kind"], hit["text"]) for hit in hits]
        assert [hit["state"] for hit in view.search("11")][:1] == [11]
        assert any(hit["kind"] == "label" and hit["rule"] == "list" for hit in view.search("["))
        assert view.search("  ") == []
        assert view.search("nowhere at all") == []


class TestFrontier:
    """FrontierView: rows ready to draw."""

    def test_rows(self) -> None:
        view = FrontierView()
        view.show(fixtures.frontiers()[1])
        assert view.items[0]["dots"] == [['list ::= "["', '(item ("," item)*)? "]"']]
        assert view.about == {"position": 1, "set_id": 4, "completed": False, "total": 4}
        view.selected_item = 2
        view.show(fixtures.frontiers()[2])
        assert view.selected_item is None
        assert view.frontier is fixtures.frontiers()[2] or view.frontier == fixtures.frontiers()[2]


class TestTokens:
    """TokenTable and MaskMap answer requests."""

    def test_pages(self) -> None:
        view = TokenTable(fixtures.token_sets())
        reply = ask(view, type="page", tab="rejected", query="", start=100, count=100)
        assert reply["total"] == view.counts["rejected"] == 165
        assert len(reply["rows"]) == 65
        assert all(row["kind"] == "rejected" for row in reply["rows"])
        reply = ask(view, type="page", tab="refused", query="", start=0, count=500)
        assert reply["total"] == view.counts["refused"] == view.counts["all"] - view.counts["allowed"] == 166
        assert {row["kind"] for row in reply["rows"]} == {"rejected", "uncertain"}
        assert not any(row["allowed"] for row in reply["rows"])
        reply = ask(view, type="page", tab="all", query="ck", start=0, count=100)
        assert [row["glyph"] for row in reply["rows"]] == ["ck"]

    @pytest.mark.parametrize(
        ("request_", "said"),
        [
            ({"type": "page", "tab": "none"}, "tab is 'none'"),
            ({"type": "page", "tab": "all", "start": -1}, "rows -1 to 39"),
            ({"type": "page", "tab": "all", "start": 0, "count": 10**9}, "at most 500"),
            ({"type": "page", "tab": "all", "start": "x"}, "invalid literal"),
            ({"type": "erase"}, "request 'erase' is not known"),
            ({"type": "token", "id": 10**7}, "outside the vocabulary"),
        ],
    )
    def test_bad_requests_get_an_answer(self, request_: dict[str, Any], said: str) -> None:
        assert said in ask(TokenTable(fixtures.token_sets()), **request_)["error"]

    def test_an_empty_table_answers_too(self) -> None:
        assert ask(TokenTable(), type="page", tab="all")["total"] == 0
        assert "no token sets" in ask(MaskMap(), type="token", id=0)["error"]

    def test_showing_a_step_brings_the_first_rows(self) -> None:
        view = TokenTable(fixtures.token_sets())
        view.tab, view.query = "uncertain", "a"
        version = view.version
        view.show(fixtures.token_sets(5))
        assert view.version == version + 1
        assert (view.page["tab"], view.page["query"], view.page["version"]) == ("uncertain", "a", view.version)
        assert [row["glyph"] for row in view.page["rows"]] == ['a"', 'a"]', 'a",', 'a"}']

    def test_one_state(self) -> None:
        view = TokenTable(fixtures.token_sets())
        view.state = 11
        assert view.counts["accepted"] == 1
        view.show(fixtures.token_sets(4))
        assert (view.state, view.counts["accepted"]) == (11, 1)
        view.show(fixtures.stop_sets())
        assert (view.state, view.counts["stop"]) == (None, 1)
        view.state = 11
        assert view.state is None

    def test_one_token(self) -> None:
        row = ask(MaskMap(fixtures.token_sets()), type="token", id=1 + ord(" "))["row"]
        assert (row["glyph"], row["kind"]) == ("␣", "accepted")

    def test_the_mask_says_how_many_tokens_there_are_and_are_allowed(self) -> None:
        sets = fixtures.token_sets()
        about = MaskMap(sets).about
        assert (about["size"], about["allowed"]) == (sets.vocab_size, len(sets.allowed))
        (few,) = MaskMap(fixtures.stop_sets()).about["few"]  # dots that nobody would see are told as texts
        assert few[0] in fixtures.stop_sets().allowed
        many = replace(sets, allowed=fixtures.ids(tuple(range(sets.vocab_size))))
        assert MaskMap(many).about["few"] == []


class TestExports:
    """Pages, twins and the switch between live and static."""

    @pytest.mark.parametrize("view", everything(), ids=lambda view: type(view).__name__)
    def test_widgets_carry_a_twin(self, view: LiveView[Any]) -> None:
        data, _ = view._repr_mimebundle_()
        assert data[WIDGET]["model_id"] == view.model_id
        frame, _, static = data["text/html"].partition("</iframe>")
        assert frame.startswith("<iframe srcdoc=")
        assert 'sandbox="allow-scripts"' in frame
        survives(static)
        assert type(view).__name__ in data["text/plain"]

    def test_no_style_of_a_twin_searches_the_document(self) -> None:
        """`:has` with a descendant is looked at again whenever a node comes or goes: 2 to 10 ms of each step."""
        _, twin = StepBar(["a"]).widget.with_twin("<p>seen</p>", "said")
        rules = re.findall(r"([^{}]+)\{", twin["text/html"].partition("</style>")[0])
        assert len(rules) >= 3
        for rule in rules:
            for looked in re.findall(r":has\(([^()]*)\)", rule):
                assert looked.lstrip().startswith("+") or looked == "*", rule

    @pytest.mark.parametrize("view", everything(), ids=lambda view: type(view).__name__)
    def test_static_mode_has_no_widget(self, view: LiveView[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MASKSCOPE_STATIC", "1")
        data, _ = view._repr_mimebundle_()
        assert set(data) == {"text/plain", "text/html"}
        survives(data["text/html"])
        visualizers.set_mode("live")
        try:
            assert WIDGET in view._repr_mimebundle_()[0]
        finally:
            visualizers.set_mode(None)
        with pytest.raises(ValueError, match="mode is 'dynamic'"):
            visualizers.set_mode("dynamic")  # type: ignore[arg-type]

    def test_save_goes_by_suffix(self, tmp_path: Path) -> None:
        view = FrontierView(fixtures.frontiers()[0])
        path = view.save(tmp_path / "frontier.html")
        assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
        with pytest.raises(ValueError, match=r"'.pdf': use .html"):
            view.save(tmp_path / "frontier.pdf")

    def test_a_table_exports_counts_and_first_rows(self) -> None:
        vocab = (*fixtures.VOCAB, *(f"w{i}".encode() for i in range(1_000)))
        carried = packed(TokenTable(fixtures.token_sets(vocab=vocab)).to_html())["parts"][0]["state"]
        assert carried["counts"]["accepted"] == 1_199
        assert len(carried["page_by_tab"]["accepted"]) == 200
        assert carried["offline"] is True

    def test_a_recorded_run_is_one_small_page(self) -> None:
        views = everything()[:5]
        for view, run in zip(
            views,
            (
                fixtures.frontiers(),
                fixtures.frontiers(),
                [fixtures.operations(i) for i in range(4)],
                [fixtures.token_sets(i) for i in range(4)],
                [fixtures.token_sets(i) for i in range(4)],
            ),
            strict=True,
        ):
            view.play(run)
        page = to_page(views, labels=["(start)", "[", '"a', '"]'])
        parts = packed(page)["parts"]
        names = ["steps", "automaton", "frontier", "operations", "tokens", "mask"]
        assert [part["module"] for part in parts] == names
        assert all(len(part["state"]["steps"]) == 4 for part in parts[1:])
        assert len(page) < 150_000
        with pytest.raises(ValueError, match="2 labels for 4 steps"):
            to_page(views, labels=["a", "b"])

    def test_nothing_in_a_page_can_end_its_script(self) -> None:
        page = TokenTable(fixtures.token_sets()).to_html(title="</script><script>alert(1)")
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert page.count("</script>") == 1
        assert "default-src 'none'" in page
