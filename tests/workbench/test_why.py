"""Why a text may come or not: the byte, what was expected, reasons, ways out; each of them true."""

from __future__ import annotations

import pytest

from kernels_core import Grammar
from tests.workbench.test_next import SCHEMA, TAGS
from tests.workbench.vocabulary import GRAMMAR
from workbench.next.why import shortest_end, why
from workbench.session import Session, StepError
from workbench.tokenizers import Tokenizer

STRICT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "mode": {"enum": ["mode_0", "mode_1"]}, "age": {"type": "integer"}},
    "required": ["name", "mode"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("grammar", "text", "what", "expected"),
    [
        (STRICT, "{", '"nmae"', '"name"'),
        (STRICT, '{"name": "a", ', '"mdoe": ', '"mode"'),
        (STRICT, '{"name": "a", "mode": ', '"mode0"', '"mode_0"'),
        (STRICT, '{"name": "a", "mode": "', "mod_1", 'mode_1"'),
        (TAGS, "hi ", "<tool=ad> ", "<tool=add>"),
        (TAGS, "hi ", "<tol=ad> ", None),  # free text: anything may come
        (GRAMMAR, "[", "ture", "true"),
    ],
)
def test_did_you_mean(grammar: object, text: str, what: str, expected: str | None, tokenizer: Tokenizer) -> None:
    session = Session(grammar, tokenizer).seek(text)
    found = why(session, what)
    assert found.ok == (expected is None)
    if expected is not None:
        assert found.suggestions[0] == expected.encode()
    for suggestion in found.suggestions:
        assert session.matcher.fork().accept_string(suggestion)


def test_everything_it_says_is_true(tokenizer: Tokenizer) -> None:
    session = Session(STRICT, tokenizer).seek('{"name": "a", "mode": ')
    found = session.why('"mode0"')
    assert not found.ok
    assert (found.read, found.reading.died_at) == (b'"mode', session.position + 5)
    assert found.state()["expected"] == "_"
    assert found.forced == b"_"
    assert found.reasons is not None
    assert [(place.keyword, place.pointer) for place in found.reasons] == [("enum", "#/properties/mode")]
    assert found.end is not None
    after = session.matcher
    assert after.accept_string(found.read + found.end)
    assert after.is_completed()
    assert "did you mean" in str(found)
    assert "enum" in found._repr_html_()


@pytest.mark.parametrize("text", ["", "[", '{"a', "[1, "])
def test_the_shortest_end_is_the_shortest(text: str, tokenizer: Tokenizer) -> None:
    session = Session(GRAMMAR, tokenizer).seek(text)
    found = shortest_end(session.matcher, seconds=10)
    assert found is not None
    matcher = session.matcher
    assert matcher.accept_string(found)
    assert matcher.is_completed()
    level = [session.matcher]
    for _ in range(len(found)):
        assert not any(at.is_completed() for at in level)
        after: dict[int, object] = {}
        for at in level:
            for value in session.tokenizer.info.decoded_vocab[:256]:
                probe = at.fork()
                if probe.accept_string(value):
                    after.setdefault(probe.set_number, probe)
        level = list(after.values())  # type: ignore[arg-type]


def test_no_end_in_no_time(tokenizer: Tokenizer) -> None:
    session = Session(Grammar.from_json_schema(SCHEMA), tokenizer).seek("{")
    assert shortest_end(session.matcher, seconds=0) is None
    assert session.why("x").end is not None


def test_tokens(tokenizer: Tokenizer) -> None:
    vocab = tokenizer.info.decoded_vocab
    session = Session(GRAMMAR, tokenizer).seek('["a')
    inside = session.why(vocab.index(b"name"))
    assert (inside.ok, inside.kind) == (True, "accepted")
    crossing = session.why(vocab.index(b'":'))
    assert (crossing.ok, crossing.kind) == (False, "uncertain")
    assert "refuse its rest :" in crossing.message
    ends = session.why(tokenizer.info.stop_token_ids[0])
    assert not ends.ok
    with pytest.raises(StepError, match="outside the vocabulary"):
        session.why(10**6)


def test_nothing_can_follow_the_end(tokenizer: Tokenizer) -> None:
    session = Session('root ::= "ab"', tokenizer).seek("ab")
    found = session.why("c")
    assert found.state()["expected"] == ""
    assert found.state()["ends"]
    session.step_token(tokenizer.info.stop_token_ids[0])
    assert not session.why("c").ok
