"""`wb.compare`: masks side by side, grouped by where they part, explained; and honest about who refuses."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from kernels_core import Grammar, Options, TokenizerInfo
from tests.workbench.peers import FlippedEngine, TextlessEngine
from workbench.comparing import sides
from workbench.comparing.differences import Judge
from workbench.comparing.sides import common_ids, peer_note
from workbench.languages import Source
from workbench.peers.catalogue import ENGINES, make_engine
from workbench.tokenizers import Tokenizer, load_tokenizer

WORDS = 'root ::= "call " name\nname ::= [a-z]+\n'
MORE = 'root ::= "call " name\nname ::= [a-z0-9]+ "!"?\n'
NESTED = 'root ::= "(" root ")" | "x"\n'


def test_options_of_ours_agree(tokenizer: Tokenizer) -> None:
    """The parsers are held against each other by many tests of the engine; here it is what the comparison says."""
    found = wb.compare(WORDS, engines=["ours", Options(parser="naive")], text="call a", tokenizer=tokenizer)
    assert found.agree
    assert found.differences == ()
    assert [answer.side.label for answer in found.answers] == ["ours", "ours(parser='naive')"]
    assert len(found.to_frame()) == 0
    (pair,) = found.pairs
    assert pair.both + pair.neither == found.common.count
    allowed = wb.Session(WORDS, tokenizer).step("call a").inspect.allowed_tokens(10**6)
    assert pair.both == len([candidate for candidate in allowed if not candidate.stop])
    assert found.answers[0].may_end
    assert "agree" in str(found)


def test_grammars_differ_token_by_token_with_our_reasons(tokenizer: Tokenizer) -> None:
    found = wb.compare(WORDS, MORE, text="call a", tokenizer=tokenizer)
    assert not found.agree
    (group,) = found.differences
    old, new = (answer.side.label for answer in found.answers)
    assert (group.allowed_by, group.refused_by) == (new, old)
    assert set(group.parting) == set(b"0123456789!")
    assert group.rules == ("name",)
    assert group.ours is False
    assert "cannot come in name" in group.why
    assert "expected: [a-z]" in group.why
    frame = found.to_frame()
    vocabulary = tokenizer.info.decoded_vocab
    assert sorted(frame["token"]) == sorted(
        bytes(data) for data in vocabulary if data and set(data) <= set(b"0123456789!") | set(range(97, 123))
        and set(data) & set(b"0123456789!") and b"!" not in data[:-1]
    )  # fmt: skip
    assert json.loads(json.dumps(found.to_dict()))["pairs"][0]["differences"][0]["count"] == group.count


def test_places_of_one_grammar(tokenizer: Tokenizer) -> None:
    found = wb.compare(WORDS, texts=["", "call ", "call a"], tokenizer=tokenizer)
    assert [answer.side.label for answer in found.answers] == ["at the beginning", "after call␣", "after call␣a"]
    assert len(found.pairs) == 2
    ends = [difference for difference in found.differences if difference.kind == "end"]
    assert [(end.allowed_by, end.refused_by) for end in ends] == [("after call␣a", "at the beginning")]


def test_engines_are_held_against_each_other_at_the_same_place(tokenizer: Tokenizer) -> None:
    naive = Options(parser="naive")
    found = wb.compare(WORDS, engines=["ours", naive], texts=["", "call a"], tokenizer=tokenizer)
    assert found.agree
    sides = [(pair.base.side, pair.other.side) for pair in found.pairs]
    assert [(one.text, other.text) for one, other in sides] == [(b"", b""), (b"call a", b"call a")]
    assert all(one.engine is not other.engine for one, other in sides)
    grammars = wb.compare(WORDS, WORDS, texts=["", "call ", "call a"], tokenizer=tokenizer)
    assert grammars.agree
    assert len(grammars.pairs) == 3


def test_who_refuses_is_an_answer(tokenizer: Tokenizer) -> None:
    found = wb.compare(NESTED, engines=["ours", Options(parser="fsm")], tokenizer=tokenizer)
    assert not found.agree
    assert not found.pairs
    (refused,) = found.refusals
    assert refused.stage == "grammar"
    assert "rule 'root' calls itself" in refused.refusal
    assert "refuses the grammar" in str(found)
    assert any("nothing to compare" in note for note in found.notes)
    row = found.summary().set_index("side").loc["ours(parser='fsm')"]
    assert row["allowed"] is None or np.isnan(row["allowed"])


def test_a_text_that_dies_says_where(tokenizer: Tokenizer) -> None:
    found = wb.compare(WORDS, MORE, text="call 7", tokenizer=tokenizer)
    assert [answer.ok for answer in found.answers] == [False, True]
    assert found.answers[0].stage == "text"
    assert found.answers[0].read == 5
    assert "after 5 bytes" in found.answers[0].refusal


def test_an_engine_with_a_fault_is_found_out(tokenizer: Tokenizer) -> None:
    """One token that the engine refuses, and one that its mask leaves out but its parser takes."""
    token = tokenizer.encode("a")[0]
    faulty = FlippedEngine(tokenizer, token, after=b"call ")
    wrong = wb.compare(WORDS, engines=["ours", faulty], text="call ", tokenizer=tokenizer)
    (group,) = wrong.differences
    assert (group.kind, group.token_ids, group.refused_by) == ("refused", (token,), "flipped")
    assert group.ours is True
    assert "our engine reads" in group.why
    masked = FlippedEngine(tokenizer, token, parser_too=False, after=b"call ")
    shy = wb.compare(WORDS, engines=["ours", masked], text="call ", tokenizer=tokenizer)
    (group,) = shy.differences
    assert group.kind == "mask only"
    assert shy.agree  # the engines take the same texts
    boasting = wb.compare(WORDS, engines=[masked, "ours"], text="7", tokenizer=tokenizer)
    assert [answer.stage for answer in boasting.answers] == ["text", "text"]


def test_control_tokens_and_padding_are_left_out() -> None:
    info = TokenizerInfo([b"a", b"b", b"<tool>", b"", b"</s>"], stop_token_ids=[4], special_token_ids=[2])
    tokenizer = load_tokenizer(info)
    common = common_ids(tokenizer)
    assert list(np.flatnonzero(common.ids)) == [0, 1]
    assert common.left_out == 3
    found = wb.compare('root ::= "a"', 'root ::= "a" | Token(2)', tokenizer=tokenizer)
    assert found.agree
    assert found.pairs[0].special == 1
    assert any("1 differ" in note for note in found.notes)


def test_only_the_end_differs(tokenizer: Tokenizer) -> None:
    found = wb.compare('root ::= "a" "b"?', 'root ::= "a" "b"', text="a", tokenizer=tokenizer)
    (difference,) = found.differences
    assert difference.kind == "end"
    assert difference.ours is False
    assert not found.agree


def test_without_our_say_the_groups_are_still_there(tokenizer: Tokenizer) -> None:
    """The grammar is one that ours refuses: other engines are compared all the same."""
    broken = "root ::= nowhere"
    engines = [TextlessEngine(tokenizer, b"ab", "one"), TextlessEngine(tokenizer, b"abc", "two")]
    found = wb.compare(broken, engines=engines, tokenizer=tokenizer)
    (group,) = found.differences
    assert group.ours is None
    assert "no explanation: our engine refuses the grammar" in group.why
    assert group.parting == b"c"


def test_sources_of_all_kinds(tokenizer: Tokenizer) -> None:
    session = wb.Session(WORDS, tokenizer).step("call ")
    found = wb.compare(session, MORE)
    assert found.tokenizer is session.tokenizer
    assert [answer.side.text for answer in found.answers] == [b"call ", b"call "]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert wb.compare(schema, json.dumps(schema), text='{"a": 1', tokenizer=tokenizer).agree
    strict = Grammar.from_json_schema(schema, strict_mode=True)
    assert "strict_mode" in peer_note(Source.of(strict))
    assert not wb.compare(schema, strict, text="{", tokenizer=tokenizer).agree


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "needs a grammar"),
        ((WORDS,), {"engines": ["nonesuch"]}, "no engine 'nonesuch'"),
        ((WORDS,), {"engines": ["ours"]}, "one side alone"),
        ((WORDS,), {"texts": []}, "texts is empty"),
        ((WORDS,), {"texts": [str(i) for i in range(40)]}, "too many"),
    ],
)
def test_what_cannot_be_compared(
    tokenizer: Tokenizer, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        wb.compare(*arguments, tokenizer=tokenizer, **options)


def test_an_engine_that_is_not_installed_is_named(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from workbench.comparing.sides import opened

    opened.cache_clear()
    monkeypatch.setitem(sys.modules, "xgrammar", None)
    monkeypatch.delitem(sys.modules, "workbench.peers.xgrammar_engine", raising=False)
    found = wb.compare(WORDS, engines=["ours", "xgrammar"], tokenizer=tokenizer)
    assert [missing.name for missing in found.missing] == ["xgrammar"]
    assert "pip install" in str(found)


def test_rows_are_as_long_as_the_vocabulary_for_every_engine() -> None:
    """The last ids of many vocabularies have no bytes; a row has their bits all the same."""
    tokens = (
        [bytes([byte]) for byte in range(256)] + [b"</s>"] + [f"<reserved {number}>".encode() for number in range(99)]
    )
    reserved = Tokenizer(
        TokenizerInfo(tokens, stop_token_ids=[256], special_token_ids=range(256, 356)), name="reserved"
    )
    for name in sides.installed():
        constraint = make_engine(name, reserved).compile_source("json_schema", '{"type": "boolean"}')
        constraint.fill()
        allowed = np.flatnonzero(np.unpackbits(constraint.bitmask.view(np.uint8).ravel(), bitorder="little"))
        assert {ord("t"), ord("f")} <= set(allowed) <= {ord(letter) for letter in "tf \t\r\n"}, name


def test_engines_that_may_take_minutes_are_asked_by_name_only(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sides, "installed", lambda: list(ENGINES))
    monkeypatch.setattr(sides, "make_engine", lambda _name, _tokenizer: SimpleNamespace(version="1"))
    sides.opened.cache_clear()
    asked = [label.partition(" ")[0] for label, _ in sides.open_engines(None, tokenizer)]
    named = [label.partition(" ")[0] for label, _ in sides.open_engines(["glrmask"], tokenizer)]
    sides.opened.cache_clear()
    assert (asked, named) == (["ours", "xgrammar", "llguidance"], ["glrmask"])


def test_displays_escape_and_fit(tokenizer: Tokenizer) -> None:
    hostile = 'root ::= "<script>alert(1)</script>" "a"*'
    found = wb.compare(hostile, "root ::= [^a]+", tokenizer=tokenizer)
    html = found._repr_html_()
    assert "<script" not in html
    assert "data:image/png" in html
    assert max(len(line) for line in str(found).split("\n")) <= 100
    assert "Comparison of" in repr(found)


def test_paths_of_tokens_follow_the_parser(tokenizer: Tokenizer) -> None:
    judge = Judge(Source.of(WORDS), tokenizer, b"call ")
    tokens = sorted([b"a", b"ab", b"a1b", b"a1c", b"b", b"", b"1", b"12"])
    read = {data: len(path) - 1 for data, path in zip(tokens, judge.paths(tokens), strict=True)}
    assert read == {b"": 0, b"a": 1, b"ab": 2, b"a1b": 1, b"a1c": 1, b"b": 1, b"1": 0, b"12": 0}
