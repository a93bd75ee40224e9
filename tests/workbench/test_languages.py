"""Sources: which language something is, that it means what the engine's own method means, where its mistakes are."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NewType

import numpy as np
import pydantic
import pytest
from typing_extensions import TypeAliasType

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import BudgetExceededError, GrammarSyntaxError, UnsupportedSchemaError
from kernels_core.grammar.templates import get_model_structural_tag, model_templates
from tests.workbench.vocabulary import GRAMMAR
from workbench.explorer import explore
from workbench.languages import NOTHING, WRITTEN, Draft, Source
from workbench.languages.layout import lay_out
from workbench.languages.positions import JsonSyntaxError, value_at
from workbench.languages.tools import ToolsError
from workbench.session import Session
from workbench.tokenizers import Tokenizer

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "noop"}},
]
NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}
WITH_PARAMETERS = [TOOLS[0], {"type": "function", "function": {"name": "noop", "parameters": NO_ARGUMENTS}}]
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f="],
        "tags": [{"begin": "<f=a>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</f>"}],
    },
}
LARK = 'start: greeting NAME\ngreeting: "hello "\nNAME: /[a-z]+/\n'


BYTES = TokenizerInfo([bytes([byte]) for byte in range(256)])


def taken(source: Source, *texts: str) -> list[bool]:
    """Which of these are texts of the source."""
    matcher = GrammarMatcher(GrammarCompiler(BYTES).compile_grammar(source.grammar()))
    found = []
    for text in texts:
        matcher.reset()
        found.append(matcher.accept_string(text) and matcher.is_completed())
    return found


@dataclasses.dataclass
class Place:
    name: str


class City(pydantic.BaseModel):
    name: str
    days: int = 1


class Called(pydantic.BaseModel):
    days: int = 1
    back: Callable[[int], int]


class Around(pydantic.BaseModel):
    called: Called
    inner: Around | None = None


class Tool(pydantic.BaseModel):
    args_schema: dict[str, str]


@pytest.mark.parametrize(
    ("anything", "language"),
    [
        (GRAMMAR, "ebnf"),
        ("root ::= ???", "ebnf"),
        ("value -> number\nnumber -> [0-9]", "ebnf"),
        (LARK, "lark"),
        ("%llguidance {}\nstart: /a/", "lark"),
        ('?start: a | b\na: "x"\nb.2: "y"', "lark"),
        ("[0-9]{3}-[a-z]+", "regex"),
        ("(?i:yes|no)", "regex"),
        ("hello!", "regex"),
        ('{"type": "string"}', "json_schema"),
        ('  {"type": "string",', "json_schema"),
        ("{'type': 'string'}", "json_schema"),
        ("true", "json_schema"),
        (SCHEMA, "json_schema"),
        (True, "json_schema"),
        (City, "json_schema"),
        (pydantic.TypeAdapter(list[int]), "json_schema"),
        (TAG, "structural_tag"),
        ({"structures": [], "triggers": []}, "structural_tag"),
        ('{"type": "structural_tag", "format": {', "structural_tag"),
        (TOOLS, "tools"),
        (TOOLS[0], "tools"),
        ({"tools": TOOLS, "model": "hermes"}, "tools"),
        ({"name": "f", "parameters": SCHEMA}, "tools"),
        ('[{"type": "function", "function": {"name": "f"', "tools"),
        (Grammar.from_regex("a+"), "regex"),
        (Grammar.from_json_schema(SCHEMA), "json_schema"),
        (Grammar.from_structural_tag(TAG), "structural_tag"),
        (Grammar.from_lark(LARK), "lark"),
        (Grammar.from_lark(LARK, plain_integers=True, trailing_skip=True), "lark"),
        (Grammar.union(Grammar.from_regex("a"), Grammar.from_regex("b")), "ebnf"),
    ],
)
def test_the_language_is_guessed_with_a_reason(anything: Any, language: str) -> None:
    source = Source.of(anything)
    assert source.language == language
    assert source.why


@pytest.mark.parametrize("suffix", [".ebnf", ".gbnf", ".lark", ".json", ".regex", ".txt"])
def test_files_are_read(tmp_path: Path, suffix: str) -> None:
    texts = {".lark": LARK, ".json": '{"type": "integer"}', ".regex": "root ::=", ".txt": LARK}
    path = tmp_path / f"thing{suffix}"
    path.write_text(texts.get(suffix, GRAMMAR), encoding="utf-8")
    languages = {".lark": "lark", ".json": "json_schema", ".regex": "regex", ".txt": "lark"}
    for given in (path, str(path)) if suffix != ".txt" else (path,):
        source = Source.of(given)
        assert (source.language, source.text) == (languages.get(suffix, "ebnf"), texts.get(suffix, GRAMMAR))
        assert source.name == path.name
    with pytest.raises(FileNotFoundError, match="give its language"):
        Source.of("nowhere.json")
    assert Source.of("nowhere.json", "regex").text == "nowhere.json"


def test_a_text_that_names_a_file_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text(GRAMMAR, encoding="utf-8")
    assert Source.of(str(path)).text == GRAMMAR
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Source.of(str(tmp_path / "other.txt"))
    for folder in (tmp_path, str(tmp_path)):
        with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
            Source.of(folder)


def test_a_file_in_lark_imports_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n", encoding="utf-8")
    main = tmp_path / "main.lark"
    main.write_text("start: WORD\n%import .words.WORD\n", encoding="utf-8")
    assert taken(Source.of(main), "ab", "5") == [True, False]
    assert not Source.of(main, imports={}).option("base_path")
    main.write_text("start: INT\n%import common.INT\n", encoding="utf-8")
    assert not Source.of(main).options


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (None, TypeError, "NoneType is no source of a grammar"),
        (3, TypeError, "int is no source of a grammar"),
        (object(), TypeError, "object is no source of a grammar"),
        (City(name="x"), TypeError, "an instance of City is data, not a schema; pass its class"),
        (
            [City],
            TypeError,
            "#/0: .*City.* is no JSON; a pydantic model is passed by itself.*; of a tool give the name",
        ),
        (["yes", "no"], TypeError, r"regular expression 'yes\|no', .* JSON string {.enum.: \[...\]}"),
        (re.compile("a"), TypeError, "pass its text"),
        (Path.open, TypeError, "function is no source of a grammar.*; of a tool give the name"),
        (Tool(args_schema={}), TypeError, "Tool is no JSON; of a tool give the name"),
        ([Tool(args_schema={})], TypeError, "Tool is no JSON; of a tool give the name"),
        ({"enum": np.array([1])}, TypeError, r"#/enum: .* is no JSON; use its tolist\(\)"),
        (threading.Event, TypeError, "is no type that pydantic can make a schema of"),
        (
            Called,
            TypeError,
            "Called.* is no type that pydantic can make a schema of: Cannot generate a JsonSchema.*; this is its field "
            "back: annotate it with WithJsonSchema",
        ),
        (Around, TypeError, r"this is its field called\.back: annotate"),
        (Called(back=int), TypeError, "Called is no JSON; of a tool give the name"),
        (b"root ::= \xff", ValueError, "these bytes are not UTF-8 at byte 9: .*; save it as UTF-8"),
        ("", ValueError, "an empty text is no grammar"),
        (" \n", ValueError, "an empty text is no grammar"),
    ],
)
def test_what_is_no_source_is_refused(wrong: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Source.of(wrong)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes('{"type": "string"}'.encode("utf-16"))
    with pytest.raises(ValueError, match=r"schema.json' is not UTF-8 at byte 0: .*; save it as UTF-8"):
        Source.of(path)


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (int, "5", '"5"'),
        (list[int], "[5]", "5"),
        (dict[str, bool], '{"a": true}', "[true]"),
        (Literal["a", "b"], '"a"', '"c"'),
        (int | None, "null", '"a"'),
        (Place, '{"name":"x"}', '{"name":1}'),
    ],
)
def test_types_are_schemas(kind: Any, right: str, wrong: str) -> None:
    source = Source.of(kind)
    assert source.language == "json_schema"
    assert taken(source, right, wrong) == [True, False]


@pytest.mark.parametrize(
    ("anything", "options", "grammar"),
    [
        (GRAMMAR, {}, Grammar.from_ebnf(GRAMMAR)),
        (GRAMMAR, {"root_rule_name": "pair"}, Grammar.from_ebnf(GRAMMAR, root_rule_name="pair")),
        (LARK, {}, Grammar.from_lark(LARK)),
        ("ab+", {"flags": "i"}, Grammar.from_regex("ab+", flags="i")),
        (SCHEMA, {"order": "declared"}, Grammar.from_json_schema(SCHEMA, order="declared")),
        (City, {}, Grammar.from_json_schema(City)),
        (TAG, {}, Grammar.from_structural_tag(TAG)),
        (
            TOOLS,
            {},
            Grammar.from_structural_tag(get_model_structural_tag("qwen_3", WITH_PARAMETERS, reasoning="disabled")),
        ),
        (
            {"tools": TOOLS, "model": "llama", "tool_choice": "required"},
            {},
            Grammar.from_structural_tag(get_model_structural_tag("llama", WITH_PARAMETERS, "required", "disabled")),
        ),
    ],
)
def test_a_source_is_the_grammar_of_the_engine(anything: Any, options: dict[str, Any], grammar: Grammar) -> None:
    source = Source.of(anything, **options)
    assert source.grammar() == grammar
    assert Source.of(source.grammar()).grammar() == grammar
    assert pickle.loads(pickle.dumps(source)) == source


def test_options_are_those_of_the_language() -> None:
    with pytest.raises(TypeError, match="regex has no option 'start'; there are flags, match"):
        Source.of("a+", start="x")
    with pytest.raises(ValueError, match="no language 'latin'"):
        Source("latin", "")  # type: ignore[arg-type]
    assert Source.of(GRAMMAR, "gbnf").language == "ebnf"


TYPO = '{\n  "type": "object",\n  "properties": {\n    "city": {"type": "strin"},\n    "days": {"minimum": "x"}\n  }\n}'


@pytest.mark.parametrize(
    ("anything", "places"),
    [
        ("root ::= word\nwrd ::= [a-z]", [(1, 10, "word")]),
        ('start: greting\ngreeting: "x"', [(1, 8, "greting")]),
        ("ab(c", [(1, 3, "(")]),
        (TYPO, [(4, 14, '"type": "strin"'), (5, 14, '"minimum": "x"')]),
        ('{"type": "object",}', [(1, 18, ",")]),
        ({"$ref": "#/$defs/no"}, [(1, 2, '"$ref": "#/$defs/no"')]),
        ({"type": "string", "pattern": "é[a-"}, [(1, 33, "[")]),
        ({"type": "integer", "minimum": 3, "maximum": 2}, None),
        ({**TAG, "format": {**TAG["format"], "triggers": []}}, None),
        ({"type": "structural_tag", "format": {"type": "regex", "pattern": 'é"[a-'}}, "["),
        ({"type": "structural_tag", "format": {"type": "sequence", "elements": [{"type": "tg"}]}}, '{"type": "tg"}'),
        ([{"type": "function", "function": {"name": 3}}], None),
        ([{"type": "function", "function": {"name": "f", "parameters": {"type": "objec"}}}], '"type": "objec"'),
        ([{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}], '"type"'),
        ([{"name": "f", "parameters": []}], '"parameters"'),
        ([{"name": "f", "parameters": "{}"}], '"parameters"'),
        ([{"type": "object", "properties": {}}], '{"type": "object", "properties": {}}'),
        ({"tools": TOOLS, "model": "lama"}, '"model"'),
        ({"tools": TOOLS, "tool_choice": "sometimes"}, '"tool_choice"'),
    ],
)
def test_every_mistake_has_a_place(anything: Any, places: list[tuple[int, int, str]] | str | None) -> None:
    """A line, a column and what is marked there, in the text as it was typed; of some the mark of the first alone."""
    source = Source.of(anything)
    mistakes = source.check()
    assert mistakes
    for mistake in mistakes:
        assert mistake.message
        lines = source.text.split("\n")
        assert lines[mistake.line - 1][mistake.column - 1 :].startswith(source.text[mistake.start : mistake.end][:1])
    if isinstance(places, str):
        assert source.text[mistakes[0].start : mistakes[0].end] == places
    elif places is not None:
        marked = [(mistake.line, mistake.column, source.text[mistake.start : mistake.end]) for mistake in mistakes]
        assert marked == places


def test_errors_carry_their_places_as_notes(tokenizer: Tokenizer) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Session(TYPO, tokenizer)
    assert "line 4, column 14" in caught.value.__notes__[0]
    with pytest.raises(JsonSyntaxError, match="line 1, column 18"):
        Session('{"type": "object",}', tokenizer)
    with pytest.raises(GrammarSyntaxError):
        Session("root ::= (", tokenizer)


@pytest.mark.parametrize("anything", [GRAMMAR, LARK, "[0-9]+", SCHEMA, City, TAG, TOOLS])
def test_sessions_and_explorers_open_whatever_it_is(tokenizer: Tokenizer, anything: Any) -> None:
    session = Session(anything, tokenizer)
    assert session.document.text == session.document.text == Source.of(anything).text
    assert session.inspect.grammar == Source.of(anything).grammar(tokenizer.info)
    assert len(session.inspect.allowed_ids()) > 0
    with explore(anything, tokenizer).under_the_hood() as explorer:
        assert explorer.session.edits.draft is None


def test_a_mistake_opens_as_a_draft_that_can_be_mended(tokenizer: Tokenizer) -> None:
    with explore(TYPO, tokenizer).under_the_hood() as explorer:
        session = explorer.session
        assert session.document == NOTHING
        assert session.inspect.next_bytes() == b""
        draft = session.edits.draft
        assert draft is not None
        assert [mistake.line for mistake in draft.mistakes] == [4, 5]
        assert "no grammar yet" in draft.status
        heard: list[str] = []
        session.on_change(heard.append)
        still = session.edits.source(draft.source.with_text(TYPO.replace("strin", "string")))
        assert isinstance(still, Draft)
        assert [mistake.line for mistake in still.mistakes] == [5]
        session.edits.source(still.source.with_text(still.source.text.replace('"x"', "0")))
        assert session.edits.draft is None
        assert session.document.language == "json_schema"
        assert heard == ["draft", "grammar"]
        session.step('{"city"')
        kept = session.edits.source(session.document.with_text("{"))
        assert isinstance(kept, Draft)
        assert kept.status == "The last good grammar stays in use."
        assert session.text == b'{"city"'


def test_a_new_vocabulary_looks_tokens_up_again() -> None:
    source = 'start: <think> "a"\n'
    first = [b"a", b"<think>", b"</s>"]
    second = [b"<think>", b"a", b"</s>"]
    from kernels_core import TokenizerInfo

    infos = [TokenizerInfo(vocab, stop_token_ids=[2], special_token_ids=[i]) for vocab, i in ((first, 1), (second, 0))]
    session = Session(source, infos[0], language="lark")
    assert list(session.inspect.allowed_ids()) == [1]
    session.set_tokenizer(infos[1])
    assert list(session.inspect.allowed_ids()) == [0]
    assert GrammarMatcher(session.inspect.compiled).accept_token(0)


@pytest.mark.parametrize("inner", [{"const": 1}, {"const": Decimal(1)}, ()], ids=["plain", "decimal", "empty"])
def test_a_value_that_holds_a_part_many_times_is_no_text(inner: Any) -> None:
    value: Any = inner
    for _ in range(23):
        value = {"anyOf": [value, {"items": value}]}
    with pytest.raises(BudgetExceededError, match="16,777,216"):
        lay_out(value)
    circle: dict[str, Any] = {}
    circle["a"] = circle
    with pytest.raises(TypeError, match="nested deeper"):
        lay_out(circle)


def arguments_taken(parameters: dict[str, Any], *texts: str, strict: bool | None = None) -> list[bool]:
    function = {"name": "f", **parameters} if strict is None else {"name": "f", "strict": strict, **parameters}
    choice = {"type": "function", "function": {"name": "f"}}
    tools = [{"type": "function", "function": function}, *TOOLS]
    source = Source.of(tools, "tools", tool_choice=choice, arguments_alone=True)
    assert set(source.tool_tag.names.values()) == {"f"}
    return taken(source, *texts)


def test_arguments_alone_are_an_object_of_the_schema() -> None:
    number = {"properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    texts = ("{}", '{"n": 1}', '{"x": 1}', "1")
    assert arguments_taken({"parameters": number}, *texts) == [False, True, False, False]
    assert arguments_taken({"parameters": number}, *texts, strict=False) == [False, True, False, False]
    assert arguments_taken({}, *texts) == [True, False, False, False]
    assert arguments_taken({"parameters": {}}, *texts) == [True, True, True, False]
    inner = {"properties": {"n": number | {"additionalProperties": True}, "o": {"properties": {"a": {}}}}}
    texts = ("{}", '{"x": 1}', '{"o": {"a": 1}}', '{"o": {"b": 1}}', '{"n": {"n": 1, "x": 1}}')
    for key in ("parameters", "input_schema"):
        assert arguments_taken({key: inner}, *texts) == [True] * 5
        assert arguments_taken({key: inner}, *texts, strict=True) == [True, False, True, False, True]


def test_a_strict_tool_takes_declared_members_alone_in_calls() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    texts = [f'<tool_call>\n{{"name": "f", "arguments": {one}}}\n</tool_call>' for one in ('{"a": 1}', '{"b": 1}')]
    for tool in ({"name": "f", "input_schema": schema}, {"type": "function", "name": "f", "parameters": schema}):
        assert taken(Source.of([tool], "tools"), *texts) == [True, True]
        assert taken(Source.of([tool | {"strict": True}], "tools"), *texts) == [True, False]


def test_arguments_stand_alone_where_one_tool_must_be_called() -> None:
    for choice in ("auto", "required"):
        with pytest.raises(ToolsError, match="arguments stand alone where one tool must be called"):
            Source.of(TOOLS, "tools", tool_choice=choice, arguments_alone=True).grammar()


def test_a_model_writes_in_order_in_short_numbers_and_with_blanks_where_people_have_them() -> None:
    schema = {
        "type": "object",
        "properties": {"why": {"type": "string"}, "sure": {"type": "number", "minimum": 0, "maximum": 1}},
        "additionalProperties": False,
    }
    source = Source.of(schema)
    written = source.for_a_model()
    texts = ['{ "why": "x",\n"sure": 0.5 }', '{"sure": 0.5, "why": "x"}', '{"sure": 0.50}', '{"sure": 5e-1}']
    texts += ['{"sure" : 0.5}', '{"why": "x" , "sure": 0.5}', f'{{"sure": 0.{"1234567890" * 2}}}', '{"sure":  0.5}']
    free = {"whitespace_before_separators": True, "max_whitespace_cnt": 9}
    unlike = {"order": "any", "canonical_numbers": False, **free}
    found = [taken(one, *texts) for one in (source, written, Source.of(schema, **unlike).for_a_model())]
    assert found == [[True] * 8, [True] + [False] * 7, [True] * 8]
    assert Source.of(TOOLS, "tools").for_a_model().options == WRITTEN
    assert Source.of(GRAMMAR).for_a_model().options == {}


def one_tool(schema: Any) -> dict[str, tuple[Any, str]]:
    """A tool as APIs write it, and where its schema stands in each."""
    chat = {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}
    mcp = {"name": "f", "title": "F", "inputSchema": schema, "annotations": {"readOnlyHint": True}, "icons": []}
    said = [{"role": "user", "content": "hi"}]
    return {
        "a tool": (chat, "#/function/parameters"),
        "chat": ([chat], "#/0/function/parameters"),
        "responses": ([{"type": "function", "name": "f", "parameters": schema}], "#/0/parameters"),
        "a null beside it": ({"name": "f", "parameters": schema, "inputSchema": None}, "#/parameters"),
        "request": ({"model": "m", "messages": said, "tools": [chat], "n": 1}, "#/tools/0/function/parameters"),
        "a request that reasons": (
            {"model": "m", "input": "hi", "reasoning": {"effort": "low"}, "tools": [chat], "tool_choice": "auto"},
            "#/tools/0/function/parameters",
        ),
        "anthropic": ({"tools": [{"name": "f", "input_schema": schema}]}, "#/tools/0/input_schema"),
        "mcp": ([mcp], "#/0/inputSchema"),
        "mcp result": ({"tools": [mcp], "nextCursor": "2"}, "#/tools/0/inputSchema"),
        "mcp reply": ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [mcp]}}, "#/result/tools/0/inputSchema"),
        "bedrock": ([{"toolSpec": {"name": "f", "inputSchema": {"json": schema}}}], "#/0/toolSpec/inputSchema/json"),
        "a bedrock tool": ({"toolSpec": {"name": "f", "inputSchema": {"json": schema}}}, "#/toolSpec/inputSchema/json"),
        "a gemini tool": (
            {"functionDeclarations": [{"name": "f", "parameters": schema}]},
            "#/functionDeclarations/0/parameters",
        ),
        "gemini's package": (
            {"tools": [{"function_declarations": [{"name": "f", "parameters": schema}]}]},
            "#/tools/0/function_declarations/0/parameters",
        ),
        "bedrock's request": (
            {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema}}}]}},
            "#/toolConfig/tools/0/toolSpec/inputSchema/json",
        ),
        "gemini": (
            [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}],
            "#/0/functionDeclarations/0/parametersJsonSchema",
        ),
    }


@pytest.mark.parametrize("form", one_tool({}))
def test_a_tool_is_read_as_each_api_writes_it(form: str) -> None:
    tool, pointer = one_tool(SCHEMA)[form]
    source = Source.of(tool)
    assert source.language == "tools"
    assert source.tool_tag.tag == Source.of(one_tool(SCHEMA)["chat"][0]).tool_tag.tag
    assert pointer in source.tool_tag.moved.values()
    assert set(source.tool_tag.names.values()) == {"f"}
    wrong, _ = one_tool({"type": "Object"})[form]
    (mistake,) = Source.of(wrong).check()
    assert mistake.pointer == f"{pointer}/type"
    assert 'write "object"' in mistake.message


ONLY_NOOP = {"type": "function", "function": {"name": "noop"}}
GEMINI = {"tools": [{"functionDeclarations": [tool["function"] for tool in TOOLS]}]}
BEDROCK = [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}}}, {"toolSpec": {"name": "noop"}}]


@pytest.mark.parametrize(
    ("request_", "meant"),
    [
        ({"tools": TOOLS, "tool_choice": "any"}, {"tool_choice": "required"}),
        ({"tools": TOOLS, "tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
        ({"tools": TOOLS, "tool_choice": {"type": "auto"}}, {}),
        ({"tools": TOOLS, "tool_choice": {"type": "none"}, "messages": []}, {"tool_choice": "none"}),
        ({"tools": TOOLS, "tool_choice": {"type": "tool", "name": "noop"}}, {"tool_choice": ONLY_NOOP}),
        (
            {"tools": TOOLS, "tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
            {"tool_choice": "required", "parallel_tool_calls": False},
        ),
        ({"toolConfig": {"tools": BEDROCK, "toolChoice": {"any": {}}}, "messages": []}, {"tool_choice": "required"}),
        ({"toolConfig": {"tools": BEDROCK, "toolChoice": {"tool": {"name": "noop"}}}}, {"tool_choice": ONLY_NOOP}),
        ({"toolConfig": {"tools": BEDROCK, "toolChoice": {"auto": {}}}}, {}),
        ({**GEMINI, "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, {"tool_choice": "required"}),
        ({**GEMINI, "tool_config": {"function_calling_config": {"mode": "none"}}}, {"tool_choice": "none"}),
        (
            {**GEMINI, "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["noop"]}}},
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [ONLY_NOOP]}}},
        ),
    ],
)
def test_a_choice_is_read_as_each_api_writes_it(request_: Any, meant: dict[str, Any]) -> None:
    assert Source.of(request_).grammar() == Source.of(TOOLS, **meant).grammar()


@pytest.mark.parametrize(
    ("request_", "place", "message"),
    [
        ({"tools": TOOLS, "tool_choice": {"type": "tool"}}, "#/tool_choice", 'is no choice; there are "auto", "none"'),
        ({**GEMINI, "toolConfig": {"functionCallingConfig": {"mode": "ALL"}}}, "#/toolConfig", "is one of AUTO, VALI"),
        ({**GEMINI, "toolConfig": {"functionCallingConfig": "ANY"}}, "#/toolConfig", "is one of AUTO, VALIDATED"),
        (
            [{"type": "custom", "name": "sql", "format": {"type": "grammar", "syntax": "lark", "definition": LARK}}],
            "#/0",
            "a custom tool is called with a text, and no function: take the text in its format.definition",
        ),
        (
            [*TOOLS, {"type": "web_search_1", "name": "web", "max_uses": 5}],
            "#/2",
            "of type 'web_search_1' is one of its",
        ),
        ([{"paramters": {"type": "object"}}], "#/0/paramters", "did you mean parameters?"),
        ({"tools": [{"googleSearch": {}}]}, "#/tools/0", "the tool 'googleSearch' is one of its provider's own"),
    ],
)
def test_a_choice_that_is_none_has_its_place(request_: Any, place: str, message: str) -> None:
    (mistake,) = Source.of(request_).check()
    assert (mistake.pointer, message in mistake.message) == (place, True)


@pytest.mark.parametrize("key", ["parametersJsonSchema", "parameters_json_schema"])
def test_a_schema_of_gemini_has_two_names(key: str) -> None:
    request = {"tools": [{"function_declarations": [{"name": "f", key: SCHEMA}]}]}
    assert Source.of(request).grammar() == Source.of([{"name": "f", "parameters": SCHEMA}]).grammar()


def test_tools_of_the_caller_are_custom_in_anthropic_s_words() -> None:
    custom = [{"type": "custom", "name": "f", "input_schema": SCHEMA}]
    assert Source.of(custom).grammar() == Source.of([{"name": "f", "parameters": SCHEMA}]).grammar()


def test_parameters_of_gemini_are_its_own_dialect() -> None:
    own = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "nullable": True, "max_length": "4"},
            "c": {"anyOf": [{"type": "BOOLEAN"}], "nullable": True},
            "b": {"type": "ARRAY", "minItems": "1", "items": {"any_of": [{"type": "INTEGER"}, {"type": "NULL"}]}},
        },
        "required": ["b"],
    }
    meant = {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"], "maxLength": 4},
            "c": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "b": {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        },
        "required": ["b"],
    }
    request = {"tools": [{"functionDeclarations": [{"name": "f", "parameters": own}]}]}
    assert Source.of(request).grammar() == Source.of([{"name": "f", "parameters": meant}]).grammar()
    own["properties"]["type"]["max_length"] = "four"
    (mistake,) = Source.of(request).check()
    assert mistake.pointer.startswith("#/tools/0/functionDeclarations/0/parameters/properties/type")


class ClientTool(pydantic.BaseModel):
    """As the Python package of MCP has it."""

    name: str
    title: str | None = None
    inputSchema: dict[str, Any]  # noqa: N815
    meta: dict[str, Any] | None = pydantic.Field(alias="_meta", default=None)


class ClientTools(pydantic.BaseModel):
    tools: list[ClientTool]
    nextCursor: str | None = None  # noqa: N815


def test_what_an_mcp_client_was_told_is_a_source() -> None:
    tool = ClientTool(name="f", inputSchema=SCHEMA, _meta={"a": 1})
    expected = Source.of([{"name": "f", "inputSchema": SCHEMA}]).tool_tag.tag
    for anything in (tool, [tool], ClientTools(tools=[tool])):
        assert Source.of(anything).tool_tag.tag == expected
    with pytest.raises(TypeError, match="an instance of City is data, not a schema; pass its class"):
        Source.of(City(name="Lund"))


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "f1"}}], ids=str)
def test_every_tag_that_calls_one_tool_is_named_by_it(choice: Any) -> None:
    schemas = [{"type": "object", "properties": {"type": {"const": "tag"}, f"a{i}": {"enum": [i]}}} for i in range(3)]
    tools = [{"type": "function", "function": {"name": f"f{i}", "parameters": one}} for i, one in enumerate(schemas)]
    for model in set(model_templates()) - {"shouting"}:  # that another test registers
        made = Source.of(tools, model=model, tool_choice=choice).tool_tag
        called = range(3) if isinstance(choice, str) else [1]
        assert set(made.names.values()) == {f"f{i}" for i in called}, model
        for pointer, target in made.moved.items():
            inside = json.dumps(value_at(made.tag, pointer))
            assert [i for i in range(3) if f'"a{i}"' in inside] == [int(target.split("/")[1])], model
            assert (pointer in made.names) == (target.count("/") == 1)


def test_names_of_types_are_types() -> None:
    """Those of `NewType` and of aliases, as pydantic reads them."""
    answer = TypeAliasType("answer", Literal["yes", "no"])
    for kind, schema in (
        (answer, {"enum": ["yes", "no"], "type": "string"}),
        (NewType("Count", int), {"type": "integer"}),
        (pydantic.JsonValue, {}),
    ):
        assert json.loads(Source.of(kind).text) == schema
