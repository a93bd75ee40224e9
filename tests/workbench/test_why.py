"""Why a text may come or not: the byte, what was expected, reasons, ways out; each of them true."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workbench.test_next import TAGS
from tests.workbench.vocabulary import GRAMMAR
from workbench.explorer.dashboard import Dashboard
from workbench.next.why import why
from workbench.panels.next import NextPanel
from workbench.panels.why import WhyPanel, WhyView
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
    found = why(session.inspect, what)
    assert found.ok == (expected is None)
    if expected is not None:
        assert found.suggestions[0] == expected.encode()
    for suggestion in found.suggestions:
        assert session.inspect.matcher.fork().accept_string(suggestion)


def test_everything_it_says_is_true(tokenizer: Tokenizer) -> None:
    session = Session(STRICT, tokenizer).seek('{"name": "a", "mode": ')
    found = session.inspect.why('"mode0"')
    assert not found.ok
    assert (found.read, found.reading.died_at) == (b'"mode', session.inspect.position + 5)
    assert found.state()["expected"] == "_"
    assert found.forced == b"_"
    assert found.reasons is not None
    assert [(place.keyword, place.pointer) for place in found.reasons] == [("enum", "#/properties/mode/enum")]
    assert found.end is not None
    after = session.inspect.matcher
    assert after.accept_string(found.read + found.end)
    assert after.is_completed()
    assert "did you mean" in str(found)
    assert "enum" in found._repr_html_()


@pytest.mark.parametrize("text", ["", "[", '{"a', "[1, "])
def test_the_shortest_end_is_the_shortest(text: str, tokenizer: Tokenizer) -> None:
    session = Session(GRAMMAR, tokenizer).seek(text)
    found = session.inspect.matcher.shortest_end()
    assert found is not None
    matcher = session.inspect.matcher
    assert matcher.accept_string(found)
    assert matcher.is_completed()
    level = [session.inspect.matcher]
    for _ in range(len(found)):
        assert not any(at.is_completed() for at in level)
        after: dict[int, object] = {}
        for at in level:
            for value in session.tokenizer.info.decoded_vocab[:256]:
                probe = at.fork()
                if probe.accept_string(value):
                    after.setdefault(probe.set_number, probe)
        level = list(after.values())  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["declared", "any"])
def test_a_long_end(order: str, tokenizer: Tokenizer) -> None:
    names = [f"name_{number}" for number in range(40)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string", "minLength": 7} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    session = Session(schema, tokenizer, order=order).seek('{"name_0": "short')
    found = session.inspect.why("x")
    assert found.end is not None
    assert len(found.end) > 700
    assert "shortest end" in str(found)
    after = session.inspect.matcher
    assert after.accept_string(found.read + found.end)
    assert after.is_completed()


def test_tokens(tokenizer: Tokenizer) -> None:
    vocab = tokenizer.info.decoded_vocab
    session = Session(GRAMMAR, tokenizer).seek('["a')
    inside = session.inspect.why(vocab.index(b"name"))
    assert (inside.ok, inside.kind) == (True, "accepted")
    crossing = session.inspect.why(vocab.index(b'":'))
    assert (crossing.ok, crossing.kind) == (False, "uncertain")
    assert "its caller array refuses its rest :" in crossing.message
    ends = session.inspect.why(tokenizer.info.stop_token_ids[0])
    assert not ends.ok
    with pytest.raises(StepError, match="outside the vocabulary"):
        session.inspect.why(10**6)


def test_nothing_can_follow_the_end(tokenizer: Tokenizer) -> None:
    session = Session('root ::= "ab"', tokenizer).seek("ab")
    found = session.inspect.why("c")
    assert found.state()["expected"] == ""
    assert found.state()["ends"]
    session.step(tokenizer.info.stop_token_ids[0])
    assert not session.inspect.why("c").ok


CARD = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "mode": {"enum": ["mode_0", "mode_1"]},
        "age": {"type": "integer"},
        "street": {"type": "string"},
    },
    "required": ["mode"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("order", "text", "what", "about", "suggested"),
    [
        ("declared", "{", '"nmae"', 'the schema has no member "nmae", and allows no other names', '"name"'),
        ("declared", '{"name": "a", ', '"mdoe": 1', 'the schema has no member "mdoe"', '"mode"'),
        (
            "declared",
            '{"name": "a", ',
            '"age"',
            "members come in the schema's order, and mode is required before age",
            None,
        ),
        (
            "declared",
            '{"mode": "mode_0"',
            ', "name"',
            "members come in the schema's order, and name comes before mode",
            None,
        ),
        (
            "declared",
            '{"mode": "mode_0", ',
            '"nmae"',
            "; name cannot come now: members come in the schema's order",
            None,
        ),
        ("declared", '{"mode": "mode_0", "s', 'treat"', 'the schema has no member "streat"', 'treet"'),
        ("any", '{"mode": "mode_0", ', '"nmae"', 'the schema has no member "nmae"', '"name"'),
        ("any", '{"mode": "mode_0", ', '"mode"', "mode is there already, and a name comes once", None),
        ("any", '{"mode": "mode_0", ', '"mdoe"', "; mode is there already", None),
        (
            "any",
            '{"mode": "mode_0"',
            '"nmae"',
            "a comma must come before the next member; the schema has no",
            ',"name"',
        ),
        ("declared", '{"mode": "mode_0"', '"age"', "a comma must come before the next member", ',"age"'),
        ("declared", "{", "}", "mode is still required", None),
        ("any", '{"name": "a"', "}", "mode is still required", None),
    ],
)
def test_why_a_name_cannot_come(
    order: Any, text: str, what: str, about: str, suggested: str | None, tokenizer: Tokenizer
) -> None:
    session = Session(CARD, tokenizer, order=order).seek(text)
    found = why(session.inspect, what)
    assert not found.ok
    assert about in found.message
    if suggested is not None:
        assert found.suggestions[0] == suggested.encode()
    for suggestion in found.suggestions:
        assert session.inspect.matcher.fork().accept_string(suggestion)
    assert found.reasons
    if "comma" in about:
        return  # no keyword forbids that
    if "a name comes once" in about:
        assert [place.pointer for place in found.reasons] == ["#/properties/mode"]
        return
    assert {place.keyword for place in found.reasons} & {"required", "additionalProperties", "order"}
    for place in found.reasons:
        assert str(place.pointer).rpartition("/")[2] in (place.keyword, "properties")


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        ("{", ' "a"'),
        ('{"a": 1,', '"b"'),
        ('{"a": 1, ', ' "b"'),
        ('{"a": 1', ' , "b"'),
        ('{"a": {', "\n"),
    ],
)
def test_a_name_is_not_blamed_for_what_is_around_it(text: str, tried: str, tokenizer: Tokenizer) -> None:
    session = Session({"type": "object"}, tokenizer, any_whitespace=False).seek(text)
    found = why(session.inspect, tried)
    assert not found.ok
    assert "member" not in found.message


@pytest.mark.parametrize(
    ("order", "tried", "keywords"),
    [
        ("declared", '"nmae"', ["additionalProperties"]),  # also where a required member would have to come first
        ("any", '"nmae"', ["additionalProperties"]),
        # An object that allows other names has no order.
        ("declared", '"age"', ["required", "additionalProperties", "order"]),
        ("declared", '"street": "a"', ["required", "additionalProperties", "order"]),
    ],
)
def test_the_keyword_that_forbids_a_name(order: Any, tried: str, keywords: list[str], tokenizer: Tokenizer) -> None:
    session = Session(CARD, tokenizer, order=order).seek("{")
    found = why(session.inspect, tried).reasons
    assert found is not None
    assert [place.keyword for place in found] == keywords
    assert not any("together" in place.label for place in found)


def test_keywords_that_forbid_together_are_named_together(tokenizer: Tokenizer) -> None:
    session = Session({"type": "string", "enum": ["a", "b"]}, tokenizer)
    found = why(session.inspect, "5").reasons
    assert found is not None
    assert [place.keyword for place in found] == ["type", "enum"]
    assert "together with `enum`" in found[0].label


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        ("{", '"nmae"'),
        ('{"', "nmae"),
        ('{"name": "a", ', '"age"'),
        ('{"mode": "mode_0", ', '"name": '),
        ('{"mode": "mode_0"', ", 5"),
        ("{", "}"),
        ('{"mode": ', '"mdoe'),
    ],
)
def test_errors_and_the_status_of_the_text_say_what_why_says(text: str, tried: str, tokenizer: Tokenizer) -> None:
    session = Session(CARD, tokenizer, order="declared").seek(text)
    said = why(session.inspect, tried).message
    with pytest.raises(StepError) as step:
        session.step(tried)
    assert str(step.value).startswith(said + "; expected there: ")
    desk = Dashboard(session, [WhyPanel])
    desk.show("why")
    desk.do("prefix", text=text + tried, client="me", seq=1)
    typed = desk.views["why"].why["message"]
    assert desk.views["screen"].here["died"].startswith(typed)
    assert typed.partition("; ")[2] == said.partition("; ")[2], "the reason does not depend on how it was typed"
    session.edits.clear()
    with pytest.raises(StepError) as seek:
        session.seek(text + tried)
    assert str(seek.value).startswith(typed + "; expected there: ")
    desk.close()


def test_a_text_that_died_in_the_box_is_shown_as_it_was_typed(tokenizer: Tokenizer) -> None:
    desk = Dashboard(Session(CARD, tokenizer), [WhyPanel])
    desk.show("why")
    desk.do("prefix", text='{"nmäe": 1', client="me", seq=1)
    told = desk.views["why"].why
    assert told["subject"] == {"token": None, "text": 'nmäe":␣1', "read": "n", "rest": 'äe":␣1'}
    assert (told["before"], told["fatal"], told["rest"]) == ('{"n', "m", 'äe":␣1')
    assert (told["position"], told["at"]) == (3, 3)
    desk.do("prefix", text='{"mode": "mode_x', client="me", seq=2)
    assert desk.views["why"].why["subject"]["text"] == "mode_x"
    desk.close()


def test_the_box_shows_the_question_of_the_answer(tokenizer: Tokenizer) -> None:
    session = Session(STRICT, tokenizer).seek("{")
    desk = Dashboard(session, [WhyPanel])
    panel, view = desk.panels["why"], desk.views["why"]
    assert isinstance(panel, WhyPanel)
    assert isinstance(view, WhyView)
    desk.show("why")
    panel.received({"kind": "ask", "text": '"nmae"'})
    assert (view.asked, view.why["subject"]["text"]) == ('"nmae"', '"nmae"')
    desk.do("prefix", text="{x", client="me", seq=1)  # what died in the text box is explained before all else
    assert (view.asked, view.why["subject"]["text"]) == ("", "x")
    desk.do("undo")
    assert (view.asked, view.why["subject"]["text"]) == ('"nmae"', '"nmae"')
    panel.received({"kind": "type", "what": "suggestion", "number": 0, "position": 1})
    assert (session.text, view.asked, view.why) == (b'{"name"', "", {})
    desk.close()


def test_what_next_says_the_shortest_end_and_types_it(tokenizer: Tokenizer) -> None:
    session = Session(STRICT, tokenizer).seek('{"name": "a"')
    desk = Dashboard(session, [NextPanel])
    panel = desk.panels["next"]
    assert isinstance(panel, NextPanel)
    told = panel._end({})
    assert told == {"end": ',"mode":"mode_0"}', "bytes": 17}
    panel.received({"kind": "take", "group": "shortest", "position": session.inspect.position})
    assert session.text == b'{"name": "a","mode":"mode_0"}'
    # In the tokenizer's tokens, as any text; what was there stays as it was, and it is one edit.
    _, *added = [(step.data, step.token_id) for step in session.steps]
    ids = tokenizer.encode(b',"mode":"mode_0"}')
    assert added[-len(ids) :] == [(bytes(tokenizer.info.decoded_vocab[i]), i) for i in ids]
    assert len(ids) > 1
    session.undo()
    assert session.text == b'{"name": "a"'
    session.redo()
    assert panel._end({}) == {"end": "", "bytes": 0}
    desk.close()


@pytest.mark.parametrize(
    ("tried", "said", "suggested"),
    [
        ('"agee"', "age cannot come now: ", ()),  # and nothing that may come is offered in its place
        ('"zzz"', "; none of its names is like it", ()),
        ('"nmae"', 'the schema has no member "nmae"', ('"name"',)),
    ],
)
def test_a_name_that_cannot_come_is_no_suggestion_for_another(
    tried: str, said: str, suggested: tuple[str, ...], tokenizer: Tokenizer
) -> None:
    found = Session(STRICT, tokenizer, order="declared").seek("{").inspect.why(tried)
    assert said in found.message
    assert found.suggestions == tuple(text.encode() for text in suggested)


@pytest.mark.parametrize(
    ("grammar", "text", "said"),
    [
        (
            'root ::= "[" word "]"\nword ::= [a-z]+',
            "[ab",
            "over the end of root, which nothing called: the text is over",
        ),
        ('root ::= "<" e ">"\ne ::= "[" e? "]"', "<[[", "over the end of e: its caller "),
    ],
)
def test_who_decides_on_an_uncertain_token_is_named(grammar: str, text: str, said: str, tokenizer: Tokenizer) -> None:
    session = Session(grammar, tokenizer).seek(text)
    uncertain = [verdict for entry in session.inspect.token_sets().states for verdict in entry.uncertain]
    assert uncertain
    for verdict in uncertain:
        assert said in why(session.inspect, verdict.token_id).message


def test_what_next_finds_the_end_of_members_in_any_order_or_says_why_not() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "a": {"type": "integer"}}}
    strict = {**schema, "required": ["name", "a"], "additionalProperties": False}
    session = Session(strict, "tekken").seek('{"na')
    panel = NextPanel(Dashboard(session))
    assert panel._end({}) == {"end": 'me":"","a":0}', "bytes": 13}
    long = NextPanel(Dashboard(Session({"type": "string", "minLength": 5_000}, "tekken")))
    found = long._end({})
    assert found["end"] is None
    assert "more than 4,000 bytes" in found["note"]


def test_a_typed_text_that_is_a_token_is_told_as_the_token_is() -> None:
    schema = {**STRICT, "properties": {**STRICT["properties"], "name": {"type": "string", "maxLength": 40}}}
    session = Session(schema, "tekken").seek('{"name": "Ad')
    vocab = session.tokenizer.info.decoded_vocab
    for text in (b'",', b'":', b'."', b"ab"):
        token = vocab.index(text)
        typed, clicked = session.inspect.why(text), session.inspect.why(token)
        assert (typed.ok, typed.reasons, typed.place) == (clicked.ok, clicked.reasons, clicked.place)
        if clicked.kind == "uncertain":
            assert f"as token {token}, {clicked.about}" in typed.message
        else:
            assert "as token" not in typed.message
    assert "; as token " in session.inspect.why('",').message
    assert "its caller root takes its rest ," in session.inspect.why('",').message


def test_a_suggestion_is_shown_as_a_whole_word() -> None:
    session = Session(STRICT, "tekken").seek('{"na')
    found = session.inspect.why("em")
    assert found.suggestions == (b'me"',)
    assert found.state()["suggestions"] == ['"name"']
    assert Session(STRICT, "tekken").seek("{").inspect.why('"nmae"').state()["suggestions"] == ['"name"']
    desk = Dashboard(session, [WhyPanel])
    panel = desk.panels["why"]
    assert isinstance(panel, WhyPanel)
    panel.received({"kind": "ask", "text": "em"})
    panel.received({"kind": "type", "what": "suggestion", "number": 0, "position": 4})
    assert session.text == b'{"name"'
    desk.close()


def test_sets_of_characters_have_one_notation() -> None:
    session = Session(STRICT, "tekken").seek('{"name": "a"')
    with pytest.raises(StepError) as refused:
        session.step("x")
    assert "expected there: white space or ," in str(refused.value)
    assert session.inspect.why("x").state()["expected"] == "white space or ,"
