"""The panels of stack, tree, triggers and chain on a desk, and the colours of the ribbon."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from workbench.explorer import Explorer, explore
from workbench.languages import Source
from workbench.panels.chart import ChartPanel
from workbench.panels.stack import StackPanel
from workbench.panels.tree import TreePanel
from workbench.panels.triggers import TriggersPanel
from workbench.screen.parts import step_modes
from workbench.session import Session
from workbench.tokenizers import Tokenizer

TAGS = 'root ::= TagDispatch(("<call=", call), excludes=("<bad>",))\ncall ::= "w>" [a-z]* "</call>"'
SUMS = 'root ::= E\nE ::= E "+" E | E "*" E | [0-9]'


@pytest.fixture
def sums(tokenizer: Tokenizer) -> Iterator[Explorer]:
    with explore(Session(SUMS, tokenizer)).under_the_hood() as opened:
        yield opened


def test_all_follow_the_session(sums: Explorer) -> None:
    stack, tree, triggers = StackPanel(sums.desk), TreePanel(sums.desk), TriggersPanel(sums.desk)
    for text in ("1", "+", "2"):
        sums.session.step(text)
        for panel in (stack, tree, triggers):
            panel.update("place")
            assert panel.view.about["position"] == sums.session.inspect.position
    assert [level["rule"] for level in stack.view.levels][:2] == ["root", "E"]
    assert not triggers.view.about["has_dispatch"]


def test_a_wish_shows_another_tree(sums: Explorer) -> None:
    sums.session.step("1+2*3")
    panel = TreePanel(sums.desk)
    panel.update(None)
    (node,) = [node for node in panel.view.nodes if node.get("readings")]
    panel.view.wish = {"readings": {node["key"]: 1}}
    (flipped,) = [node for node in panel.view.nodes if node.get("readings")]
    assert flipped["reading"] == 1
    panel.view.wish = {"tree": 99}  # of another text
    assert panel.view.about["tree"] == 0


def test_a_node_of_a_new_text_shows_its_first_way(sums: Explorer) -> None:
    sums.bring("tree")
    panel, session = sums.panels["tree"], sums.session
    session.read("1+2+3")
    sums.desk.update_all()
    key = next(node["key"] for node in panel.view.nodes if node.get("readings"))
    panel.view.wish = {"readings": {key: 1}}
    assert session.back()
    assert session.forward()  # other places of one text keep it
    sums.desk.update_all()
    assert [node["reading"] for node in panel.view.nodes if node["key"] == key] == [1]
    session.read("1+2+3+4")
    sums.desk.update_all()
    assert {node["reading"] for node in panel.view.nodes if node.get("readings")} == {0}
    assert panel.view.wish == {"readings": {}}


def test_the_chart_marks_the_items_that_are_ambiguous(sums: Explorer) -> None:
    """Held against the derivation, whose node over the same text says in how many ways it is derived."""
    sums.session.step("1+2*3+4")
    panel, tree = ChartPanel(sums.desk), TreePanel(sums.desk)
    panel.update(None)
    tree.update(None)
    marked = {item["origin"]: item["ways"] for item in panel.view.items if item.get("ways")}
    assert {item["rule"] for item in panel.view.items if item.get("ways")} == {"E"}
    (whole,) = [node for node in tree.view.nodes if node.get("readings") and node["begin"] == 0 and node["end"] == 7]
    assert marked[0] == whole["readings"] == 3
    assert marked[2] == 2
    assert set(marked) == {0, 2}  # 3+4 and 4 are read in one way


def test_a_rule_that_has_ended_shows_the_alternative_that_was_read(sums: Explorer) -> None:
    panel = ChartPanel(sums.desk)
    for text, read in (("1", {0: "E ::= [0-9]"}), ("+2", {0: 'E ::= E "+" E', 2: "E ::= [0-9]"})):
        sums.session.step(text)
        panel.update(None)
        told = [(item["origin"], one) for item in panel.view.items if item["rule"] == "E" for one in item["dots"]]
        assert {origin: before for origin, (before, after) in told if not after} == read


def test_the_chain_behind_the_item_that_is_chosen(sums: Explorer) -> None:
    sums.session.step("1+2")
    panel = ChartPanel(sums.desk)
    panel.update(None)
    last = panel.operations.rows
    panel.view.selected_item = 0
    assert panel.operations.rows[0]["kind"] == "start"
    assert sums.desk.selection["item"] == 0
    panel.view.selected_item = None
    assert panel.operations.rows == last


def test_steps_are_named_by_mode(tokenizer: Tokenizer) -> None:
    session = Session(TAGS, tokenizer)
    for text in ("hi ", "<call=", "w>ab", "</call>", " so", " <ca"):
        session.step(text)
    tag = "<call="
    found = step_modes(session)
    assert isinstance(found, tuple)
    assert [one.name for one in found] == ["free text", f"trigger {tag}", tag, tag, "free text", f"trigger {tag}"]
    assert [one.hue for one in found] == ["free", "trigger", "tag-0", "tag-0", "free", "trigger"]
    with explore(session).under_the_hood() as opened:
        parts = opened.views["screen"].text["parts"]  # type: ignore[attr-defined]
        assert [(hue, count) for _, hue, count in parts] == [
            ("free", 1),
            ("trigger", 1),
            ("tag-0", 2),
            ("free", 1),
            ("trigger", 1),
        ]
        panel = TriggersPanel(opened.desk)
        panel.update(None)
        assert panel.view.about["hue"] == "trigger"


def test_a_grammar_without_free_text_has_no_modes(sums: Explorer) -> None:
    sums.session.step("1+2")
    assert step_modes(sums.session) == ()


NAME = {"type": "string", "maxLength": 9}
PEOPLE = {"type": "object", "properties": {"first": NAME, "last": NAME, "home": {"$ref": "#/$defs/home"}}}
SCHEMA = {**PEOPLE, "$defs": {"home": {"type": "object", "properties": {"city": NAME}, "required": ["city"]}}}


@pytest.fixture
def people(tokenizer: Tokenizer) -> Iterator[Explorer]:
    with explore(Session(SCHEMA, tokenizer)).under_the_hood() as opened:
        opened.bring("source", "stack", "automaton")
        yield opened


def test_equal_schemas_share_a_rule_and_are_told_apart_by_their_places(people: Explorer) -> None:
    stack, tree, chart = (people.panels[name].view for name in ("stack", "tree", "chart"))
    people.bring("chart")
    for text, place in (('{"first": "a', "first"), ('", "last": "a', "last")):
        people.session.step(text)
        people.desk.update_all()
        pointer = f"#/properties/{place}"
        assert stack.levels[-1]["pointer"] == pointer
        assert [node["pointer"] for node in tree.nodes if node.get("open")][-1] == pointer
        assert {item["pointer"] for item in chart.items} == {pointer}
        assert [level["place"] for level in stack.levels[:2]] == ["#", f"…/properties/{place}"]
    assert pointer in stack.static_html()


def test_no_pointers_in_grammars_of_rules(sums: Explorer) -> None:
    sums.session.step("1+")
    sums.desk.update_all()
    assert not any("pointer" in level for level in sums.panels["stack"].view.levels)


def test_a_level_lights_its_place_in_the_source_and_back(people: Explorer) -> None:
    people.session.step('{"home": {"city": "Lu')
    people.desk.update_all()
    stack, source = people.panels["stack"].view, people.panels["source"].view
    level = next(one for one in stack.levels if one.get("pointer", "").endswith("home"))
    people.desk.select(rule=level["rule"], pointer=level["pointer"])
    lit = source.selected
    assert lit is not None
    assert '"home"' in source.document["text"][lit["start"] : lit["end"]]
    # A rule of the automaton that is at work is chosen with its place, under the name it was written with.
    automaton = people.panels["automaton"].view
    name = next(rule for rule, place in automaton.places.items() if place.endswith("/city"))
    automaton.rule = name
    assert str(people.selection["pointer"]).endswith("/city")
    people.desk.select(rule=None, pointer=None)
    # A click in the source chooses the rule of the automaton that reads there.
    people.desk.select(pointer=automaton.places[name])
    assert automaton.rule == name
    assert people.selection["rule"] is None


def test_a_place_that_no_rule_reads_yet_is_named(tokenizer: Tokenizer) -> None:
    tools = [
        {"name": "mail", "parameters": {"type": "object", "properties": {"to": {"type": "string", "format": "email"}}}}
    ]
    pointer = "#/0/parameters/properties/to"
    with explore(Session(tools, tokenizer)).under_the_hood() as opened:
        view = opened.panels["automaton"].view
        opened.desk.select(pointer=pointer)
        assert (view.rule, view.waiting) == (None, pointer)
        opened.session.read('<tool_call>\n{"name": "mail", "arguments": {"to": "')
        assert (view.rule, view.waiting, opened.selection["pointer"]) == (None, "", None)  # the text went on
        opened.desk.select(pointer=pointer)
        assert view.waiting == ""
        assert view.places[view.rule] == pointer


def test_a_counted_rule_is_chosen_by_the_name_it_was_written_with(people: Explorer) -> None:
    people.session.step('{"first": "a", ')
    people.desk.update_all()
    automaton = people.panels["automaton"].view
    counted = next(rule.rule for rule in automaton.automaton.rules if rule.rule.startswith("ws{"))
    automaton.rule = counted
    assert people.selection["rule"] == "ws"
    automaton.rule = None
    people.desk.select(rule="ws", pointer=None)
    assert automaton.rule == counted
    state = next(item.state for item in people.session.inspect.frontier().items if item.rule == "root")
    assert automaton.describe(state)["flags"][0] == "reads #"


def test_another_text_begins_with_its_first_tree(sums: Explorer) -> None:
    sums.bring("tree")
    panel, session = sums.panels["tree"], sums.session
    session.read("1+2+3")
    sums.desk.update_all()
    panel.view.wish = {"tree": 1}
    assert panel.view.about["tree"] == 1
    session.read("1+2+34")  # it goes on: the wish stays
    sums.desk.update_all()
    assert panel.view.wish == {"tree": 1}
    session.read("7+8")
    sums.desk.update_all()
    assert (panel.view.wish, panel.view.about["tree"]) == ({}, 0)


def test_a_group_with_the_dot_in_it_is_printed_whole(tokenizer: Tokenizer) -> None:
    with explore(Session('root ::= "(" ([0-9] ")")+', tokenizer).seek("(1")) as opened:
        opened.bring("tree")
        opened.desk.update_all()
        shown = [after for node in opened.panels["tree"].view.nodes for _, after in node.get("open", ())]
    assert shown == ['(… ")")+']


def test_without_a_front_end_rules_are_called_as_in_the_source(tokenizer: Tokenizer) -> None:
    """With `%ignore` the engine makes `atom.first` and `atom.text` of one rule of Lark's."""
    text = 'start: atom ("+" atom)*\n?atom: NUMBER | "(" start ")"\nNUMBER: /[0-9]+/\n%ignore " "\n'
    made = re.compile(r"\b\w+\.(first|text)\b")
    with explore(Session(Source("lark", text), tokenizer)) as explorer:
        explorer.session.step("(1 + (2")
        inspect = explorer.session.inspect
        assert any(made.search(level.rule) for level in inspect.call_stack().levels)
        for found in (inspect.frontier(), inspect.call_stack(), inspect.operations(), inspect.derivation()):
            frame = found.to_frame().drop(columns="key", errors="ignore")
            assert not made.search(frame.to_csv())
            assert not made.search(found._repr_html_() or "")
        assert not made.search(re.sub(r"data:[^\"]*", "", explorer.static_html()))
