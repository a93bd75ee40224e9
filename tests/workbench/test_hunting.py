"""`wb.hunt`: faults put into an engine are found and shrunk to a minimal text; peers disagree where that is known."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import workbench as wb
from kernels_core import Grammar, Options
from tests.workbench.peers import FlippedEngine, TextlessEngine
from workbench.comparing.finding import Hunt
from workbench.comparing.hunting import _has_half_pairs, _respelt
from workbench.comparing.referee import Referee, Unjudged
from workbench.comparing.texts import mutate, schema_text, shrink
from workbench.tokenizers import Tokenizer

LISTS = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= [a-z]+ | root | [0-9]{1,4}\n'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer", "minimum": 0, "maximum": 20}},
    "required": ["name"],
    "additionalProperties": False,
}


def silent(hunt: Hunt) -> None:
    """No line on the terminal."""


def test_a_fault_is_found_and_shrunk(tokenizer: Tokenizer) -> None:
    """The engine refuses `7` wherever `,1` stands before it: the shortest such text has four characters."""
    (token,) = tokenizer.encode("7")
    faulty = FlippedEngine(tokenizer, token, after=b",1")
    found = wb.hunt(LISTS, ["ours", faulty], seconds=60, texts=400, limit=1, tokenizer=tokenizer, progress=silent)
    (finding,) = found.findings
    assert (finding.kind, finding.goes_on, finding.refuses) == ("refused", "ours", "flipped")
    assert finding.token == b"7"
    assert finding.token_id == token
    assert finding.text in (b"[a,1", b"[0,1", b"[1,1")
    assert finding.usual_cut
    assert finding.whole is not None
    assert finding.whole.startswith(finding.text + b"7")
    assert len(finding.original) >= len(finding.text)
    assert finding.why.startswith("our engine reads 7 in ")
    assert "item" in finding.why


def test_one_seed_finds_the_same_again(tokenizer: Tokenizer) -> None:
    (token,) = tokenizer.encode("q")

    def once(seed: int) -> list[dict[str, Any]]:
        faulty = FlippedEngine(tokenizer, token, after=b"k")
        options: dict[str, Any] = {"seconds": 60, "texts": 60, "limit": 2, "tokenizer": tokenizer}
        found = wb.hunt(LISTS, ["ours", faulty], seed=seed, progress=silent, **options)
        return [finding.to_dict() | {"place": finding.place} for finding in found.findings]

    assert once(3) == once(3)
    assert once(3)


def test_a_mask_that_hides_a_token_its_parser_takes(tokenizer: Tokenizer) -> None:
    (token,) = tokenizer.encode("]")
    faulty = FlippedEngine(tokenizer, token, parser_too=False, after=b"z")
    found = wb.hunt(LISTS, ["ours", faulty], seconds=60, texts=300, limit=1, tokenizer=tokenizer, progress=silent)
    (finding,) = found.findings
    assert (finding.kind, finding.refuses, finding.token) == ("mask only", "flipped", b"]")
    assert finding.text == b"[z"
    assert "leaves out" in finding.headline


def test_the_referee_says_who_is_wrong(tokenizer: Tokenizer) -> None:
    """An engine that refuses what the schema allows; and one that allows more than the schema, which is ours here."""
    (token,) = tokenizer.encode("2")
    faulty = FlippedEngine(tokenizer, token, after=b"1")
    found = wb.hunt(SCHEMA, ["ours", faulty], seconds=60, texts=300, limit=4, tokenizer=tokenizer, progress=silent)
    verdicts = [finding.verdict for finding in found.findings]
    assert verdicts
    assert all(verdict is not None and verdict.valid and verdict.wrong == "flipped" for verdict in verdicts)
    assert "flipped refuses what is valid" in str(found)


def test_members_in_another_order_are_said_to_be_that(tokenizer: Tokenizer) -> None:
    """Ours in declared order beside ours: the difference is the order of members, and can be left out."""
    fixed = GrammarEngine(tokenizer, Grammar.from_json_schema(SCHEMA, order="declared"))
    options: dict[str, Any] = {"seconds": 60, "texts": 80, "limit": 3, "tokenizer": tokenizer, "progress": silent}
    found = wb.hunt(SCHEMA, [fixed, "ours"], **options)
    assert found.findings
    assert any("order of the schema" in finding.remark for finding in found.findings)
    fewer = wb.hunt(SCHEMA, [fixed, "ours"], spellings=False, **options)
    assert fewer.spellings > 0
    assert not any("order of the schema" in finding.remark for finding in fewer.findings)


class GrammarEngine(FlippedEngine):
    """Ours, with a grammar of its own instead of the one that is compared."""

    name = "fixed"

    def __init__(self, tokenizer: Tokenizer, grammar: Grammar) -> None:
        super().__init__(tokenizer, 0, after=b"never")
        self.grammar = grammar

    def compile(self, grammar: object) -> Any:
        return super().compile(self.grammar)


def test_a_token_is_asked_where_it_differs(tokenizer: Tokenizer) -> None:
    """After `q1` engines part on the end, a finding that shrinks to `1`, and on `d`, which neither takes after `1`."""
    grammar = 'root ::= "1" | other\nother ::= "q1" "d"?\n'
    fixed = GrammarEngine(tokenizer, Grammar.from_ebnf('root ::= "1z" | "q1z"\n'))
    found = wb.hunt(grammar, ["ours", fixed], seconds=60, texts=60, limit=9, tokenizer=tokenizer, progress=silent)
    assert {finding.kind for finding in found.findings} == {"end", "refused"}
    assert ("end", b"1", b"") in {(one.kind, one.text, one.token) for one in found.findings}
    assert ("refused", b"q1", b"d") in {(one.kind, one.text, one.token) for one in found.findings}


@pytest.mark.parametrize("grammar", [LISTS, SCHEMA])
def test_parsers_of_ours_agree(tokenizer: Tokenizer, grammar: Any) -> None:
    engines = ["ours", Options(parser="naive"), Options.laboratory(lazy_lowering=False, inline_limit=0)]
    found = wb.hunt(grammar, engines, seconds=20, texts=25, tokenizer=tokenizer, progress=silent)
    assert found.findings == []
    assert found.texts > 0
    assert found.places > 0
    assert "no disagreement found" in str(found)


def test_who_refuses_the_grammar_is_left_out(tokenizer: Tokenizer) -> None:
    found = wb.hunt(LISTS, ["ours", Options(parser="fsm")], tokenizer=tokenizer, progress=silent)
    assert "calls itself" in found.refusals["ours(parser='fsm')"]
    assert found.texts == 0
    assert any("Fewer than two" in note for note in found.notes)
    with pytest.raises(ValueError, match="two engines"):
        wb.hunt(LISTS, ["ours"], tokenizer=tokenizer)
    with pytest.raises(ValueError, match="seconds"):
        wb.hunt(LISTS, ["ours", "ours"], seconds=0, tokenizer=tokenizer)


def test_interrupted_it_keeps_what_it_has(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.comparing import hunting

    (token,) = tokenizer.encode("[")
    walk, walked = hunting._Search.walk, []

    def stopped(self: Any, guide: list[int], until: float) -> None:
        if self.hunt.findings:
            raise KeyboardInterrupt
        walked.append(guide)
        walk(self, guide, until)

    monkeypatch.setattr(hunting._Search, "walk", stopped)
    faulty = FlippedEngine(tokenizer, token)
    found = wb.hunt(LISTS, ["ours", faulty], seconds=60, limit=9, tokenizer=tokenizer, progress=silent)
    assert found.interrupted
    assert found.findings
    assert (found.findings[0].text, found.findings[0].token) == (b"", b"[")
    assert "interrupted" in str(found)


def test_an_engine_that_fails_is_noted(tokenizer: Tokenizer) -> None:
    class Failing(TextlessEngine):
        def _compile(self, language: Any, text: str) -> Any:
            made = super()._compile(language, text)

            def fill() -> None:
                raise RuntimeError("out of fuel")

            made.fill = fill
            return made

    found = wb.hunt(LISTS, ["ours", Failing(tokenizer, b"[", "failing")], texts=3, tokenizer=tokenizer, progress=silent)
    assert any("out of fuel" in note for note in found.notes)


def test_displays_fit_and_escape(tokenizer: Tokenizer) -> None:
    (token,) = tokenizer.encode("<")
    faulty = FlippedEngine(tokenizer, token)
    grammar = 'root ::= "<script>alert(1)</script>"'
    found = wb.hunt(grammar, ["ours", faulty], texts=5, limit=1, tokenizer=tokenizer, progress=silent)
    assert "<script" not in found._repr_html_()
    assert max(len(line) for line in str(found).split("\n")) <= 100
    assert list(found.to_frame()["kind"]) == ["refused"]
    assert json.loads(json.dumps(found.to_dict()))["findings"][0]["text"] == ""


# -- the parts --------------------------------------------------------------------------------------------------------


def test_shrink_keeps_what_matters() -> None:
    asked = []

    def holds(text: bytes, token: bytes) -> bool:
        asked.append((text, token))
        return b"x" in text and text.count(b"(") >= 2 and token.startswith(b"!")

    text, token = shrink(b'{"abc": 123, "(": ["x", "((("], "y": null}', b"!abc", holds)
    assert sorted(text) == sorted(b"x((")
    assert token == b"!"
    assert len(asked) == len(set(asked))
    assert shrink(b"abc", b"d", lambda text, token: (text, token) == (b"abc", b"d")) == (b"abc", b"d")


def test_shrink_asks_no_more_than_it_may() -> None:
    asked = []

    def holds(text: bytes, token: bytes) -> bool:
        asked.append(text)
        return True

    shrink(b"a b c d e f" * 50, b"x", holds, questions=20)
    assert len(asked) <= 20


def test_texts_of_a_schema_meet_its_bounds() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 3, "maximum": 7},
            "s": {"type": "string", "minLength": 2, "maxLength": 4},
            "l": {"type": "array", "items": {"$ref": "#/$defs/e"}, "maxItems": 2},
            "f": {"type": "string", "format": "date"},
        },
        "required": ["n"],
        "$defs": {"e": {"enum": ["red", 2]}},
    }
    random = Random(1)
    texts = [schema_text(schema, random) for _ in range(400)]
    read = []
    for text in texts:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            read.append(value)
    assert len(read) > 300
    numbers = {value["n"] for value in read if isinstance(value.get("n"), int)}
    assert {2, 3, 7, 8} <= numbers
    assert {1, 2, 4, 5} <= {len(value["s"]) for value in read if isinstance(value.get("s"), str)}
    assert {3, 2} <= {len(value["l"]) for value in read if isinstance(value.get("l"), list)}
    assert any("red" in value.get("l", []) for value in read if isinstance(value.get("l"), list))
    assert any("n" not in value for value in read)
    assert [schema_text(schema, Random(5)) for _ in range(3)] == [schema_text(schema, Random(5)) for _ in range(3)]


@pytest.mark.parametrize(
    "schema", [True, {}, {"$ref": "#"}, {"allOf": [True, {"type": "null"}]}, {"enum": []}, {"not": {}}]
)
def test_texts_of_odd_schemas(schema: Any) -> None:
    for seed in range(30):
        assert isinstance(schema_text(schema, Random(seed)), str)


def test_mutations_change_a_text_and_end() -> None:
    random = Random(2)
    text = b'{"a": [1, 2.5, "x\\n"]}'
    made = {mutate(text, random) for _ in range(200)}
    assert len(made) > 150
    assert mutate(b"", random) is not None


def test_the_referee_knows_what_it_cannot_judge() -> None:
    referee = Referee({"type": "string", "format": "date"})
    assert referee.complaint('"2024-02-29"') is None
    assert "2023-02-29" in str(referee.complaint('"2023-02-29"'))
    with pytest.raises(Unjudged, match="year 0"):
        referee.complaint('"0000-01-01"')


def test_other_spellings_of_a_value() -> None:
    assert _respelt(b'{"b":1.0,"a":"\\u0061"}', None) == b'{"b": 1, "a": "a"}'
    assert _respelt(b'{"b":1,"a":2}', {"properties": {"a": {}, "b": {}}}) == b'{"a": 2, "b": 1}'
    assert _respelt(b'{"a": 1}', None) is None  # as it stands
    assert _respelt(b"[1e400]", None) is None
    assert _has_half_pairs(b'"\\ud800"')
    assert not _has_half_pairs(b'"\\ud83d\\ude00"')


# -- peers, where they are installed: disagreements that are known ----------------------------------------------------

BOUNDED = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}, "required": ["a"]}


def hunted(peer: str, schema: Any, limit: int = 4) -> Hunt:
    pytest.importorskip({"outlines": "outlines_core"}.get(peer, peer))
    found = wb.hunt(schema, ["ours", peer], seconds=60, texts=80, limit=limit, progress=silent)
    assert found.findings, found.notes
    return found


def test_xgrammar_lets_control_characters_into_bounded_strings() -> None:
    found = hunted("xgrammar", BOUNDED | {"additionalProperties": False})
    wrong = [f for f in found.findings if f.verdict is not None and f.verdict.valid is False]
    assert any(f.text == b'{"a":"' and f.token < b" " and f.refuses == "ours" for f in wrong)
    # And it has no way to write an escape there.
    assert any(f.token == b"\\" and f.goes_on == "ours" and f.verdict and f.verdict.valid for f in found.findings)


def test_xgrammar_ignores_unique_items() -> None:
    found = hunted("xgrammar", {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, limit=2)
    finding = found.findings[0]
    assert finding.refuses == "ours"
    assert finding.verdict is not None
    assert finding.verdict.wrong == finding.goes_on != "ours"
    assert "non-unique" in finding.verdict.reason


def test_llguidance_spells_bounded_integers_narrowly() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}
    found = hunted("llguidance", schema | {"additionalProperties": False})
    spelt = [f for f in found.findings if f.goes_on == "ours" and f.verdict is not None and f.verdict.valid]
    assert any(f.text in (b'{"n":', b'{"n":0') and f.token in (b"-", b".", b"e", b"E") for f in spelt)
    assert any("same value written as" in f.remark for f in spelt)


def test_outlines_limits_white_space() -> None:
    found = hunted("outlines", BOUNDED | {"additionalProperties": False})
    assert any(f.goes_on == "ours" and f.verdict is not None and f.verdict.valid for f in found.findings)
