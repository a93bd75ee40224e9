"""The source panel: what it lights, what a click and a hover say, languages and options, mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.workbench.test_provenance import INFO, SCHEMA, TAG, TOOLS
from tests.workbench.vocabulary import GRAMMAR
from visualizers.source import SourceView
from workbench.explorer import Explorer, explore
from workbench.languages import LANGUAGES, Source
from workbench.languages.examples import EXAMPLES
from workbench.session import Session
from workbench.tokenizers import Tokenizer


@pytest.fixture
def opened() -> Iterator[Explorer]:
    with explore(SCHEMA, INFO).under_the_hood() as explorer:
        yield explorer


def view_of(explorer: Explorer) -> Any:
    return explorer.views["source"]


def send(explorer: Explorer, **message: Any) -> None:
    view_of(explorer).receive(message, [])


def lit(explorer: Explorer, role: str = "here") -> list[str]:
    view = view_of(explorer)
    text = view.document["text"]
    return [text[slice(*lit_of(place))] for place in view.places if place["role"] == role]


def lit_of(place: dict[str, Any]) -> tuple[int, int]:
    return place.get("from", place["start"]), place.get("to", place["end"])


def test_the_place_is_lit_in_the_text_as_it_is(opened: Explorer) -> None:
    view = view_of(opened)
    assert view.document["text"] == Source.of(SCHEMA).text
    assert (view.document["language"], view.mistakes) == ("json_schema", [])
    assert view.status.endswith("and 1 more also takes members that the schema does not name.")
    opened.session.step('{"city": "Lu", "unit": ')
    assert lit(opened) == ['"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}']
    assert lit(opened, "next") == ['"celsius"', '"fahrenheit"']
    opened.session.step('"celsius", "pos": [1')
    assert lit(opened) == ['{"type": "number"}']
    for place in view.places:
        first, last = lit_of(place)
        assert place["start"] <= first < last <= place["end"]


def test_the_foot_counts_what_was_written(opened: Explorer) -> None:
    """The engine makes rules of a schema as it reads: they are no matter of the source."""
    view = view_of(opened)
    said = view.document["summary"]
    assert "rule" not in said
    opened.session.step('{"city": "Lu"')
    assert len(opened.session.inspect.grammar.ir.rules) > 1
    opened.session.set_grammar(SCHEMA)
    assert view.document["summary"] == said
    assert "JSON Schema" in repr(opened.session)
    opened.session.set_grammar('root ::= a "," a\na ::= b+\nb ::= [a-z] | "-"\n')
    assert view.document["summary"] == "3 rules written"
    assert "3 rules written" in repr(opened.session)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_example_opens_without_a_mistake(opened: Explorer, language: str) -> None:
    send(opened, kind="language", language=language)
    view = view_of(opened)
    assert view.document["language"] == language
    assert view.document["text"] == (Source.of(SCHEMA).text if language == "json_schema" else EXAMPLES[language])  # type: ignore[index]
    mistakes = [one for one in view.mistakes if not one.get("warning")]
    assert (mistakes, opened.last_error, opened.desk.troubles) == ([], None, {})
    assert view.places


def test_languages_keep_what_was_written_in_them(opened: Explorer) -> None:
    typed = "root ::= [ab]+\n"
    send(opened, kind="language", language="ebnf")
    send(opened, kind="source", text=typed, client="me", seq=1)
    assert (view_of(opened).document["client"], view_of(opened).document["seq"]) == ("me", 1)
    send(opened, kind="language", language="json_schema")
    assert view_of(opened).document["text"] == Source.of(SCHEMA).text
    assert opened.session.document.language == "json_schema"
    send(opened, kind="language", language="ebnf")
    assert view_of(opened).document["text"] == typed
    assert opened.session.document.text == typed


def test_edits_of_the_editor_end_where_another_text_is_opened(opened: Explorer) -> None:
    view, first = view_of(opened), view_of(opened).document["text"]
    number = view.document["opened"]
    send(opened, kind="source", text=first + "\n", client="me", seq=1)
    send(opened, kind="option", name="strict_mode", value=True)
    assert view.document["opened"] == number
    opened.desk.do("open", text='{"const": 1}', language="json_schema")
    assert view.document["opened"] == number + 1
    opened.session.step("1")
    assert view.document["opened"] == number + 1
    send(opened, kind="undo")
    send(opened, kind="undo")
    assert (view.document["text"], view.document["opened"]) == (first + "\n", number + 2)
    send(opened, kind="language", language="regex")
    assert view.document["opened"] == number + 3
    send(opened, kind="undo")
    assert (view.document["language"], view.document["text"]) == ("json_schema", first + "\n")


def test_options_change_the_grammar(opened: Explorer) -> None:
    opened.session.set_grammar({key: value for key, value in SCHEMA.items() if key != "patternProperties"})
    assert opened.session.inspect.explain('{"days').ok
    send(opened, kind="option", name="order", value="declared")
    assert not opened.session.inspect.explain('{"days').ok
    assert [option["value"] for option in view_of(opened).document["options"] if option["name"] == "order"] == [
        "declared"
    ]
    send(opened, kind="option", name="order", value="any")
    assert opened.session.document.options == {}
    send(opened, kind="option", name="nonsense", value=1)
    assert opened.session.document.options == {}


def test_mistakes_are_marked_and_the_last_good_text_stays_in_use(opened: Explorer) -> None:
    view, good = view_of(opened), opened.session.document.text
    send(opened, kind="source", text=good.replace('"integer"', '"integr"'), client="me", seq=1)
    assert [view.document["text"][one["start"] : one["end"]] for one in view.mistakes] == ['"type": "integr"'] * 3
    assert view.status == "The last good grammar stays in use."
    assert view.places == []
    assert opened.session.document.text == good
    send(opened, kind="source", text=good[:-1], client="me", seq=2)
    assert "never closed" in view.mistakes[0]["message"]
    send(opened, kind="source", text=good, client="me", seq=3)
    assert view.mistakes == []
    assert "good grammar" not in view.status
    assert view.places


def test_a_draft_opens_on_its_own_text() -> None:
    with explore('{"type": "objct"}', INFO).under_the_hood() as explorer:
        view = view_of(explorer)
        assert view.document["text"] == '{"type": "objct"}'
        assert len(view.mistakes) == 1
        assert "no grammar yet" in view.status
        send(explorer, kind="source", text='{"type": "object"}', client="me", seq=1)
        assert (view.mistakes, view.status) == ([], "")
        assert explorer.session.document.language == "json_schema"


def test_a_refused_text_lights_what_forbids_it(opened: Explorer) -> None:
    opened.desk.do("prefix", text='{"city": "lu')
    view = view_of(opened)
    assert [(place["pointer"], place["label"]) for place in view.forbids] == [
        ("#/properties/city/pattern", "`city` matches ^[A-Z] (`pattern`)")
    ]
    assert view.document["text"][slice(*lit_of(view.forbids[0]))] == '"pattern": "^[A-Z]"'
    opened.desk.do("prefix", text='{"city": "Lu')
    assert view.forbids == []


def test_a_click_chooses_and_what_is_chosen_elsewhere_is_shown(opened: Explorer) -> None:
    view = view_of(opened)
    offset = opened.session.document.text.index('"minimum"') + 3
    send(opened, kind="choose", offset=offset)
    assert opened.selection["pointer"] == "#/properties/days/minimum"
    opened.desk.select(pointer="#/properties/unit")
    text = view.document["text"]
    assert text[view.selected["start"] : view.selected["end"]].startswith('"unit": ')
    opened.desk.select(pointer=None)
    assert view.selected is None
    with explore(GRAMMAR, INFO).under_the_hood() as other:
        send(other, kind="choose", offset=GRAMMAR.index("array ::=") + 10)
        assert other.selection["rule"] == "array"
        other.desk.select(rule="number")
        chosen = view_of(other).selected
        assert GRAMMAR[chosen["start"] : chosen["end"]].startswith("number ::=")


@pytest.mark.parametrize(
    ("source", "text", "at", "said"),
    [
        (
            SCHEMA,
            '{"city": "L',
            '"minLength"',
            ["#/properties/city/minLength", "minLength: at least so many characters"],
        ),
        (SCHEMA, '{"city": "L', '"city": {', ["#/properties/city", "is read now: city", "next byte: "]),
        (GRAMMAR, "[1", "number ::=", ["rule number"]),
        (TAG, "hello <f=", '"<f=b>"', ["#/format/tags/1/begin", "may come next: the beginning of tag '<f=b>'"]),
        (TOOLS, "hi", '"get_weather"', ["#/0/function/name"]),
    ],
)
def test_hovering_explains(source: Any, text: str, at: str, said: list[str]) -> None:
    with explore(source, INFO).under_the_hood() as explorer:
        explorer.session.read(text)
        view, heard = view_of(explorer), []
        view.send = heard.append
        view.receive(
            {"type": "hover", "offset": explorer.session.document.text.index(at) + 1, "view": "v", "seq": 4}, None
        )
        assert (heard[0]["view"], heard[0]["seq"]) == ("v", 4)
        for line in said:
            assert any(found.startswith(line) for found in heard[0]["lines"]), heard[0]["lines"]


def test_the_static_twin_shows_text_and_marks_and_escapes_both() -> None:
    session = Session('root ::= "<b>&" [a-z]', INFO)
    with explore(session).under_the_hood() as explorer:
        page = view_of(explorer).static_html()
        assert "&lt;b&gt;&amp;" in page
        assert "<b>&" not in page
        assert '<span style="background' in page
        explorer.session.edits.source(Source("ebnf", "root ::= <script>"))
        page = view_of(explorer).static_html()
        assert "<script>" not in page
        assert "line 1, column" in page
    assert "SourceView" in repr(SourceView())


def test_a_source_with_a_mistake_says_on_the_screen_that_nothing_is_read_and_shows_doubts_too(
    tokenizer: Tokenizer,
) -> None:
    text = '{"type": "object", "properties": {"age": {"type": "integr"}}, "requierd": ["age"]}'
    with explore(Session.opened(text, tokenizer)) as opened:
        source: Any = opened.views["source"]
        screen: Any = opened.views["screen"]
        assert [(one["pointer"], one.get("warning", False)) for one in source.mistakes] == [
            ("#/properties/age/type", False),
            ("#/requierd", True),
        ]
        assert source.document["summary"].endswith("JSON Schema, not in use yet")
        said = "the source has a mistake: only the empty text is allowed"
        assert screen.here["end"] == said
        opened.desk.do("prefix", text="{")
        assert screen.here["end"] == said
        opened.desk.do("source", text=text.replace("integr", "integer").replace("requierd", "required"))
        assert source.mistakes == []
        assert source.document["summary"].endswith("JSON Schema")
        assert "may not end yet" in screen.here["end"]


def test_rules_of_lark_go_by_the_names_that_were_written() -> None:
    """With `%ignore` the engine makes `atom.first` of `?atom`: what is lit is the name in the source."""
    source = Source("lark", 'start: atom ("+" atom)*\n?atom: NUMBER | "(" start ")"\nNUMBER: /[0-9]+/\n%ignore " "\n')
    with explore(source, INFO).under_the_hood() as explorer:
        text = source.text
        labels = [place["label"] for place in view_of(explorer).places]
        assert labels
        assert not [label for label in labels if ".first" in label or ".text" in label]
        for rule in {place["rule"] for place in view_of(explorer).places if "atom" in place.get("rule", "")}:
            explorer.desk.select(rule=rule)
            chosen = view_of(explorer).selected
            assert text[chosen["from"] : chosen["to"]] == "?atom"
