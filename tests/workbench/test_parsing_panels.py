"""The panels of stack, tree, triggers and chain on a desk, and the colours of the ribbon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.explorer import Explorer, explore
from workbench.panels.chart import ChartPanel
from workbench.panels.stack import StackPanel
from workbench.panels.tree import TreePanel
from workbench.panels.triggers import TriggersPanel, step_modes
from workbench.session import Session
from workbench.tokenizers import Tokenizer

TAGS = 'root ::= TagDispatch(("<call=", call), excludes=("<bad>",))\ncall ::= "w>" [a-z]* "</call>"'
SUMS = 'root ::= E\nE ::= E "+" E | E "*" E | [0-9]'


@pytest.fixture
def sums(tokenizer: Tokenizer) -> Iterator[Explorer]:
    with explore(Session(SUMS, tokenizer)) as opened:
        yield opened


def test_all_follow_the_session(sums: Explorer) -> None:
    stack, tree, triggers = StackPanel(sums.desk), TreePanel(sums.desk), TriggersPanel(sums.desk)
    for text in ("1", "+", "2"):
        sums.session.step(text)
        for panel in (stack, tree, triggers):
            panel.update("place")
            assert panel.view.about["position"] == sums.session.position
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


def test_the_chain_behind_the_item_that_is_chosen(sums: Explorer) -> None:
    sums.session.step("1+2")
    panel = ChartPanel(sums.desk)
    panel.update(None)
    assert panel.chain.rows == []
    panel.view.selected_item = 0
    assert panel.chain.rows[0]["kind"] == "start"
    assert sums.desk.selection["item"] == 0
    panel.view.selected_item = None
    assert panel.chain.rows == []


def test_steps_are_named_by_mode(tokenizer: Tokenizer) -> None:
    session = Session(TAGS, tokenizer)
    for text in ("hi ", "<call=", "w>ab", "</call>", " so", " <ca"):
        session.step(text)
    tag = "<call="
    assert step_modes(session) == ("free text", f"trigger {tag}", tag, tag, "free text", f"trigger {tag}")
    with explore(session) as opened:
        assert [step["mode"] for step in opened.views["text"].state["ribbon"]] == list(step_modes(session))


def test_a_grammar_without_free_text_has_no_modes(sums: Explorer) -> None:
    sums.session.step("1+2")
    assert step_modes(sums.session) == ()
