"""What each part of a grammar took of the probability: it adds up, and it is where the reasons are."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from workbench.generation import LanguageModel, generate  # noqa: E402
from workbench.reports.blame import blame  # noqa: E402

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"enum": ["value", "list"]}, "list": {"type": "integer", "maximum": 9}},
    "required": ["name", "list"],
    "additionalProperties": False,
}
RULES = 'root ::= "the " animal\nanimal ::= "fox" | "dog"\n'


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reason is given up, however busy the machine is."""
    monkeypatch.setattr("workbench.reports.blame.MOST_ASKED_MS", math.inf)


@pytest.mark.parametrize("grammar", [SCHEMA, RULES], ids=["schema", "rules"])
@pytest.mark.parametrize("alternatives", [1, 20, 335])
def test_all_that_was_refused_is_told(tiny: LanguageModel, grammar: Any, alternatives: int) -> None:
    made = generate(tiny, "the quick", grammar, seed=1, max_tokens=25, alternatives=alternatives)
    found = blame(made, seconds=math.inf)
    refused = sum(1 - step.feasible_mass for step in made.steps)
    assert found.mass == pytest.approx(refused)
    frame = found.to_frame()
    assert frame["mass"].sum() == pytest.approx(refused)
    assert frame["nats"].sum() == pytest.approx(-made.log_feasible_mass)
    assert (frame["mass"] >= -1e-9).all()
    assert found.heat().keys() <= set(range(1, found.source.text.count("\n") + 2))
    if alternatives == 335:  # all tokens were recorded, and each has a reason
        assert found.unexplained_mass == pytest.approx(0, abs=1e-5)


def test_the_rule_that_waits_is_the_one_that_takes(tiny: LanguageModel) -> None:
    made = generate(tiny, "a", RULES, seed=2, alternatives=335)
    found = blame(made, seconds=math.inf)
    by_rule = {one.rule: one for one in found.found if one.rule and one.keyword != "(the end)"}
    assert set(by_rule) == {"root", "animal"}
    inside = [step for step in made.steps if step.offset >= len("the ")]
    expected = sum(1 - step.feasible_mass for step in inside)
    ends = sum(math.exp(one.logprob) for step in inside for one in step.alternatives if one.token == b"<end>")
    before = sum(1 - step.feasible_mass for step in made.steps if step not in inside)
    assert by_rule["animal"].mass <= expected + before + 1e-9  # a token may die behind `the `, too
    assert by_rule["root"].mass <= before + 1e-9
    assert by_rule["animal"].mass >= expected - ends - 1e-2  # control tokens have parts of their own
    animal = found.source.text.index("animal ::=")
    assert by_rule["animal"].span is not None
    assert by_rule["animal"].span[0] >= animal
    assert found.heat()[2] >= by_rule["animal"].mass


def test_keywords_take_what_they_forbid(tiny: LanguageModel) -> None:
    """At the value of an enumeration: what another string would begin with is taken by `enum`."""
    begin = tiny.tokenizer.encode('{"name": "')
    made = generate(tiny, "a", SCHEMA, seed=0, begin=begin, max_tokens=len(begin) + 1, alternatives=335)
    last = made.steps[-1]
    found = blame(made, seconds=math.inf)
    enum = next(one for one in found.found if one.keyword == "enum")
    assert enum.pointer == "#/properties/name/enum"
    letters = sum(
        one.probability
        for one in last.alternatives
        if not one.allowed and one.token.isalpha() and len(one.token) == 1 and one.token not in (b"v", b"l")
    )
    assert letters > 0
    assert enum.mass >= letters - 1e-9
    assert last.index in enum.steps
    line = found.source.text[: enum.span[0]].count("\n") + 1 if enum.span else 0
    assert found.heat()[line] >= enum.mass
    assert "enum" in found._repr_html_()
    assert "enum" in str(found)


def test_without_time_nothing_is_explained_and_nothing_is_lost(tiny: LanguageModel) -> None:
    made = generate(tiny, "the quick", SCHEMA, seed=1, max_tokens=10, alternatives=20)
    found = blame(made, seconds=0)
    assert found.mass == pytest.approx(sum(1 - step.feasible_mass for step in made.steps))
    assert {one.keyword for one in found.found} <= {"(the end)", "(control)"}


def test_a_healed_prompt_takes_its_part(tiny: LanguageModel) -> None:
    made = generate(tiny, "the quic", SCHEMA, seed=1, max_tokens=20, alternatives=20, healing=True)
    assert made.healed
    found = blame(made, seconds=math.inf)
    part = next(one for one in found.found if one.keyword == "(healing)")
    assert 0 in part.steps
    assert found.mass == pytest.approx(sum(1 - step.feasible_mass for step in made.steps))


def test_other_cuts_take_their_part(tiny: LanguageModel) -> None:
    made = generate(tiny, "a", 'root ::= "the quick"', seed=1, alternatives=335, canonical=True)
    part = next(one for one in blame(made, seconds=math.inf).found if one.keyword == "(canonical)")
    assert b"t" in part.tokens


def test_a_sessions_trace_tells_the_same(tiny: LanguageModel) -> None:
    from workbench.session import Session

    trace = Session(RULES, tiny.tokenizer).run(tiny, "a", seed=2, alternatives=20)
    assert blame(trace.generation).mass > 0
    assert trace.cuts(passes=1).text == trace.generation.text_bytes


def test_nothing_to_blame(tiny: LanguageModel) -> None:
    with pytest.raises(ValueError, match="has no grammar"):
        blame(generate(tiny, "a", max_tokens=2))
    made = generate(tiny, "a", RULES, seed=1)
    with pytest.raises(ValueError, match="was pickled"):
        blame(pickle.loads(pickle.dumps(made)))
