"""Grammars that are too large for a part of the desk: it opens soon, shows what it can, and says what it leaves out."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.dispatch import modes
from tests.work import calls
from workbench import explore
from workbench.provenance import provenance
from workbench.provenance.branches import Oracles
from workbench.provenance.formats import FormatWalk
from workbench.session import Session
from workbench.session.masks import Fills
from workbench.tokenizers import Tokenizer

MANY = 3_000


def many_tags(count: int) -> dict[str, Any]:
    """Free text with `count` triggers, each of one tag."""
    content = {"type": "const_string", "value": "x"}
    tags = [{"begin": f"<{i:05}>", "content": content, "end": "</>"} for i in range(count)]
    triggers = [f"<{i:05}" for i in range(count)]
    return {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": triggers, "tags": tags}}


class Exhausted:
    """A matcher whose masks are all over the budget, and the class of its own grammar and vocabulary."""

    def __init__(self, vocab_size: int) -> None:
        self.asked = 0
        self.vocab_size = vocab_size
        self.compiled = self.tokenizer_info = self

    def is_terminated(self) -> bool:
        return False

    def set_trace(self, trace: Any) -> Any:
        return None

    def fill_next_token_bitmask(self, bitmask: Any) -> None:
        self.asked += 1
        raise BudgetExceededError("milliseconds", 1_000, "mask after 0 bytes")


def test_each_tag_is_found_by_its_trigger_without_trying_all(tokenizer: Tokenizer) -> None:
    def places(count: int) -> list[str]:
        walk = FormatWalk(many_tags(count)["format"], "#/format", tokenizer.info, Oracles())
        return [one.pointer for one in walk.read(b"so <00007>")]

    assert places(10_000) == ["#/format/tags/7/content"]
    small, large = (calls(partial(places, count)) for count in (500, 1_000))
    assert large <= 2.2 * small


def test_triggers_that_begin_with_each_other_keep_their_tags(tokenizer: Tokenizer) -> None:
    tags = [{"begin": begin, "content": {"type": "any_text"}, "end": "!"} for begin in ("<a=1", "<b=2", "<a=3")]
    tag = {
        "type": "structural_tag",
        "format": {"type": "triggered_tags", "triggers": ["<a", "<b="], "tags": tags},
    }
    session = Session(tag, tokenizer)
    for text, index in (("<a=1", 0), ("<b=2", 1), ("<a=3", 2)):
        session.read(text + "z")
        assert next(place.pointer for place in provenance(session.inspect)) == f"#/format/tags/{index}/content"


def test_the_screen_says_that_free_text_and_tags_are_not_told_apart(tokenizer: Tokenizer) -> None:
    with explore(Session(many_tags(MANY), tokenizer)).under_the_hood() as opened:
        opened.session.step("so")
        said = opened.views["screen"].bar["note"]  # type: ignore[attr-defined]
        assert "free text and tags are not told apart" in said
        assert "more than 20,000 automaton states" in said
        opened.bring("triggers")
        assert "more than 20,000 automaton states" in opened.desk.troubles["triggers"]
        with pytest.raises(BudgetExceededError) as first:
            modes(opened.session.inspect.matcher)
        with pytest.raises(BudgetExceededError) as second:
            modes(opened.session.inspect.matcher)
        assert first.value is second.value  # it is not tried again at every step


def test_a_mask_over_the_budget_is_tried_once_at_a_place() -> None:
    matcher: Any = Exhausted(64)
    fills = Fills()
    for _ in range(3):
        fills.ask(matcher, 2)
    assert matcher.asked == 1
    assert fills.events == (None, None, None)
    assert "more than 1,000 milliseconds" in str(fills.over(2))
    fills.cut(2)
    assert fills.over(2) is not None
    fills.cut(1)
    assert fills.over(2) is None
    fills.ask(matcher, 2)
    assert matcher.asked == 2


def test_the_screen_goes_on_where_a_mask_is_over_the_budget(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher: Any = Exhausted(64)
    ask = Fills.ask
    with explore(Session('root ::= "a" "bc"', tokenizer)).under_the_hood() as opened:
        monkeypatch.setattr(Fills, "ask", lambda self, _, index: ask(self, matcher, index))
        opened.bring("tokens")
        opened.session.step("a")
        opened.bring("mask", "next")
        opened.bring("tokens")
        screen: Any = opened.views["screen"]
        screen.pane = "place"  # where one sees what may come
        assert matcher.asked == 1
        here = screen.here
        assert here["where"].startswith("byte 1 ")
        told = "the mask takes more than the engine's budget: mask after 0 bytes: more than 1,000 milliseconds"
        assert here["end"].startswith(told)
        opened.bring("tokens")
        assert "screen" not in opened.desk.troubles
        assert "more than 1,000 milliseconds" in opened.desk.troubles["tokens"]
        for _ in range(2):
            with pytest.raises(BudgetExceededError):
                opened.session.inspect.mask()
        opened.session.back()
        assert opened.session.inspect.mask().any()  # of before
        assert "tokens" not in opened.desk.troubles


def test_rules_are_lit_without_a_second_engine(tokenizer: Tokenizer) -> None:
    session = Session('root ::= "a" root | "b"', tokenizer)
    assert [place.rule for place in provenance(session.inspect)]
    assert session._core._shadow is None
