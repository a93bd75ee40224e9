"""Lists of tags: what is read when the parser gets to it says what it would say if it were read at once."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarError, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import UnsupportedSchemaError
from kernels_core.grammar import nodes
from kernels_core.grammar.analysis import normal_form
from kernels_core.grammar.ir import DeferredRule, GrammarIR, Node, Rule, RuleRef
from kernels_core.grammar.printer import print_grammar
from kernels_core.grammar.structural_tag import read_structural_tag, structural_tag_rules, tag_lists
from kernels_core.grammar.structural_tag.deferrable_calls import DeferrableCalls
from kernels_core.grammar.structural_tag.styles import STYLES
from tests.grammar.structural_tag.driver import ANY, INFO, Format, const, tag, token, whole

OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
SCHEMAS: list[Any] = [
    OBJECT,
    {"type": "object", "properties": {"b": {"enum": [1, 2.5, "x"]}, "c": {"type": "boolean"}}},
    {"$defs": {"t": {"type": "null"}}, "type": "array", "items": {"$ref": "#/$defs/t"}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"},
    {"type": "string", "description": 'a "quoted" \n é text'},
    {"multipleOf": 3},
    {"properties": {"a": {"type": "boolean", "enum": ["x"]}}, "additionalProperties": False},
    {"$id": "http://a/b", "type": "null"},
    {},
    True,
]


def arguments(schema: Any, **more: Any) -> Format:
    return {"type": "json_schema", "json_schema": schema} | more


contents = st.one_of(
    st.builds(arguments, st.sampled_from(SCHEMAS)),
    st.builds(arguments, st.sampled_from(SCHEMAS), strict_mode=st.booleans(), plain_integers=st.booleans()),
    st.sampled_from([arguments(OBJECT, style="qwen_xml"), arguments(OBJECT, order="declared"), ANY, const("ab")]),
    st.sampled_from([arguments(OBJECT, excludes=["x"]), arguments(OBJECT, excludes=[], style="json")]),
)
STYLED: list[Any] = [
    OBJECT,
    {"type": "object", "properties": {"b": {"enum": [1, "x"]}, "c": {"type": "boolean"}}, "required": ["b", "d"]},
    {"type": "object", "properties": {"s": {"type": "string", "minLength": 2, "maxLength": 9}}},
    {"type": "object", "properties": {"s": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}}},
    {"type": "object", "properties": {"s": {"type": "array", "items": {"type": "string", "maxLength": 9}}}},
    {"type": "object", "properties": {"s": {"enum": ["a</parameter>b", "<|close|>"]}, "t": {"const": "]<]minimax[>["}}},
    {"type": "object", "properties": {"s": {"type": "string", "pattern": "^[a-z]+$"}}, "additionalProperties": False},
    {"type": "object", "properties": {"s": {"type": "string", "pattern": "^<.*>$"}, "t": {"format": "date"}}},
    {"type": "object", "properties": {"a b": True, " c": {"type": "null"}}},
    {"type": "object", "properties": {"a<": {"type": "string"}, "b": {"type": "object", "properties": {'"': True}}}},
    {"type": "object", "properties": {"a:": {"type": "string"}}, "required": ["a:"]},
    {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
    {"type": "object", "required": ["x"]},
    {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
    {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"enum": ["<stop>", "n"]}}},
    {"type": "object", "properties": {f"{at:0100}": True for at in range(30)}},
    {"type": "object", "properties": {"a": False, "b": {"type": "integer", "enum": ["x"]}, "c": {"type": "null"}}},
    {"type": "string"},
    {"properties": {"a": {"type": "string"}}},
    {},
]
excluded = st.sampled_from([["<stop>"], ["x" * 40, "y" * 40], ["a"], []])
styles = st.sampled_from(["json", "gemma", *STYLES, "yaml"])
styled = st.builds(
    lambda schema, style, excludes: arguments(schema, style=style, excludes=excludes),
    st.sampled_from(STYLED),
    styles,
    excluded,
)
pieces = st.lists(
    styled
    | st.sampled_from(
        [
            const("x<call>"),
            const(""),
            {"type": "regex", "pattern": "[0-9]+"},
            {"type": "regex", "pattern": "<call>"},
            {"type": "regex", "pattern": "["},
            ANY,
        ]
    ),
    max_size=3,
)
contents = contents | styled | st.builds(lambda parts: {"type": "sequence", "elements": parts}, pieces)
begins = st.sampled_from(["<", "<a", "<a>", "<ab>", "<b", "<call>", "<call>a", "<é>"])
ends = st.sampled_from(["</a>", "", "</call>", "x</call>", ["</a>", "b"], ["", "a"]])
tags = st.builds(tag, begins, contents, ends)
wrong = st.sampled_from(
    [
        tag("<a", arguments({"type": "strin"}), "b"),
        tag("<a", arguments({"type": "string", "enum": [1]}), "b"),
        tag("<a", arguments("{}"), "b"),
        tag("<a", arguments(OBJECT, style="yaml"), "b"),
        tag("<a", arguments(OBJECT, strict_mode=1), "b"),
        tag("<a", arguments(OBJECT, any_ordr=True), "b"),
        tag("<a", OBJECT, "b"),
        tag("a", arguments(OBJECT), "b"),
        tag("", arguments(OBJECT), "b"),
        tag("<cal", arguments(OBJECT), "b"),
        tag("<a", arguments(OBJECT), []),
        tag("<a", arguments(OBJECT), ["a", 1]),
        tag("<a", arguments(OBJECT), 1),
        tag(1, arguments(OBJECT), "b"),
        tag(token(6), arguments(OBJECT), "b"),
        tag("<a", arguments(OBJECT), "b") | {"more": 1},
        {"type": "tag", "begin": "<a", "end": "b"},
        ANY,
        3,
    ]
)


def triggered(listed: list[Any], triggers: list[str], **more: Any) -> Format:
    return {"type": "triggered_tags", "triggers": triggers, "tags": listed} | more


def separated(listed: list[Any], **more: Any) -> Format:
    return {"type": "tags_with_separator", "tags": listed, "separator": ","} | more


flags = st.fixed_dictionaries({"at_least_one": st.booleans(), "stop_after_first": st.booleans()})
triggers = st.sampled_from([["<"], ["<a", "<b", "<c", "<é"], ["<", "<a"], ["<ca", "<"], ["<call>", "<a", "<b"]])


def forms(listed: st.SearchStrategy[list[Any]]) -> st.SearchStrategy[Format]:
    return st.one_of(
        st.builds(lambda found, names, more: triggered(found, names, **more), listed, triggers, flags),
        st.builds(lambda found, more: separated(found, **more), listed, flags),
        st.builds(lambda found: tag("(", triggered(found, ["<"]), ")"), listed),
        st.builds(lambda found: tag("(", separated(found), ")"), listed),
    )


def renamed(ir: GrammarIR) -> str:
    """A grammar as text in which rules are numbered in the order in which they are met."""
    names = {name: f"r{number}" for number, name in enumerate(ir.rules)}

    def combine(node: Node, below: list[Node]) -> Node:
        return RuleRef(names[node.name]) if isinstance(node, RuleRef) else nodes.rebuild(node, below)

    rules = {names[name]: Rule(names[name], nodes.fold(rule.body, combine)) for name, rule in ir.rules.items()}
    return print_grammar(GrammarIR(rules, names[ir.root]))


def both(form: Format) -> list[str]:
    """The grammar, or what is wrong: read when it is needed, and read at once."""
    found = []
    read = read_structural_tag(whole(form))
    assert read.written is not None
    for request in (read, read._replace(written=None)):
        try:
            ir, _ = structural_tag_rules(request, INFO)
            found.append(renamed(Grammar._made(normal_form(ir, trusted=True), ir.source, (Grammar, ())).ir))
        except (GrammarError, UnsupportedSchemaError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


@given(forms(st.lists(tags, min_size=1, max_size=4)))
def test_late_is_what_at_once_is(form: Format) -> None:
    late, at_once = both(form)
    assert late == at_once


@given(forms(st.lists(tags | wrong, min_size=1, max_size=3)))
def test_what_is_wrong_is_said_at_once(form: Format) -> None:
    late, at_once = both(form)
    assert late == at_once


@pytest.mark.parametrize("style", ["json", "gemma", *STYLES])
def test_styles_are_late_where_nothing_can_be_wrong(style: str) -> None:
    late = 0
    for schema in STYLED:
        form = separated([tag("<a", arguments(schema, style=style, excludes=["<stop>"]), "</a>")])
        read = read_structural_tag(whole(form))
        assert read.written is not None
        if not DeferrableCalls(read.value["format"]["tags"], ("",), read.written).others:
            late += 1
            late_text, at_once = both(form)
            assert late_text == at_once
            assert "root ::=" in at_once or "r0 ::=" in at_once, "what is late is not refused"
    assert 6 <= late < len(STYLED)


@pytest.mark.parametrize(
    ("schema", "excludes", "late"),
    [
        ({"minLength": 100}, [], True),
        ({"minLength": 101}, [], False),  # states would count
        ({"minLength": 101, "maxLength": 60_000}, [], True),
        ({}, ["x" * 10], True),
        ({}, ["x" * 40], False),
        ({"pattern": "^[a-z]*$"}, [], True),
        ({"pattern": "^[a-z<>/]*$"}, [], False),  # may hold the end
        ({"enum": ["</parameter>"]}, [], False),
        ({"type": "integer", "enum": ["x"]}, [], True),  # it may not come
        ({"type": "array", "items": {}, "minItems": 1, "enum": ["x"]}, [], True),
        ({"type": "integer", "minimum": 3, "enum": ["x"]}, [], True),
        ({"type": "integer", "minimum": 3, "enum": [2]}, [], False),
        ({"type": ["string", "array"], "items": {}, "enum": ["x"]}, [], True),
        ({"enum": ["x"], "pattern": "^y"}, [], False),
        ({"type": "integer", "enum": [5.0]}, [], False),  # an integer in some dialects
    ],
)
def test_what_is_late_certainly_can_be_written(schema: Any, excludes: list[str], late: bool) -> None:
    whole_schema = {"type": "object", "properties": {"s": {"type": "string"} | schema}}
    form = separated([tag("<a", arguments(whole_schema, style="qwen_xml", excludes=excludes), "</a>")])
    read = read_structural_tag(whole(form))
    assert read.written is not None
    assert (not DeferrableCalls(read.value["format"]["tags"], ("",), read.written).others) == late


def waiting(grammar: Grammar) -> int:
    return sum(isinstance(rule, DeferredRule) for rule in grammar.lazy_ir.rules.values())


@pytest.mark.parametrize("make", [lambda tags: triggered(tags, ["<"]), separated])
def test_tools_are_not_read_before_they_are_called(make: Any) -> None:
    tools = [tag(f"<t{number}>", arguments(OBJECT), "</>") for number in range(50)]
    grammar = Grammar.from_structural_tag(whole(make(tools)), tokenizer_info=INFO)
    assert len(grammar.lazy_ir.rules) <= 3
    assert waiting(grammar) == 1
    matcher = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar))
    assert matcher.accept_string('<t7>{"a"')
    assert {f"t{number}" for number in range(50)}.intersection(grammar.lazy_ir.rules) == {"t7"}
    assert Grammar.from_ebnf(str(grammar)) == grammar


def test_calls_that_wait_are_read_each_in_its_own_way() -> None:
    two: dict[str, Any] = {
        "type": "object",
        "properties": {"x": {"type": "null"}, "y": {"type": "integer"}},
        "required": ["x", "y"],
    }
    two["additionalProperties"] = False
    ways: dict[str, dict[str, Any]] = {
        "any": {},
        "declared": {"order": "declared"},
        "plain": {"plain_integers": True},
        "bare": {"style": "qwen_xml"},
        "counted": {"max_whitespace_cnt": 0},
    }
    tags = [tag(f"<{name}>", arguments(two, **more), "</>") for name, more in ways.items()]
    grammar = Grammar.from_structural_tag(whole(triggered(tags, ["<"])), tokenizer_info=INFO)
    matcher = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar))

    def takers(text: str) -> set[str]:
        taken = set()
        for name in ways:
            matcher.reset()
            if matcher.accept_string(f"<{name}>{text}"):
                taken.add(name)
        return taken

    spelt = set(ways) - {"bare"}
    assert takers('{"x":null,"y":1') == spelt
    assert takers('{"y":1,"x":null}') == spelt - {"declared"}
    assert takers('{"x":null,"y":1.0') == spelt - {"plain"}
    assert takers('{"x":null, "y":1') == spelt - {"counted"}
    assert takers("<parameter=x>") == {"bare"}


LETTERS = [b"a", b"b", b"<", b"{", b"}", b"n", b"u", b"l", b"1", "é".encode(), b"ab", b"<a", b"<ab<", b"ab<", b"bnull"]
CONTROL = [len(LETTERS), len(LETTERS) + 1]
MANY_INFO = TokenizerInfo([*LETTERS, b"<call>", b"<stop>"], stop_token_ids=CONTROL[1:], special_token_ids=CONTROL)
parts = st.lists(st.sampled_from(["a", "b", "<", "é", "<call>"]), max_size=4).map("".join)
many_begins = st.lists(parts, min_size=9, max_size=14)
leaves = st.sampled_from([arguments({"type": "null"}), arguments({"enum": [1, 11]}), arguments({"multipleOf": 11})])


@given(many_begins, st.lists(leaves, min_size=14, max_size=14), st.sampled_from(["", "b", "<call>"]), st.data())
def test_many_beginnings_are_followed_as_few_are(
    names: list[str], contents: list[Format], end: str, data: st.DataObject
) -> None:
    """As they are read, or (where all is lowered at once) as nodes."""
    tags = [tag(f"<{name}", content, end) for name, content in zip(names, contents, strict=False)]
    form = data.draw(
        st.sampled_from([triggered(tags, ["<"]), triggered(tags, ["<"], at_least_one=True), separated(tags)])
    )
    late, at_once = (
        GrammarMatcher(GrammarCompiler(MANY_INFO, options=options).compile_structural_tag(whole(form)))
        for options in (
            Options.laboratory(direct_limit=data.draw(st.sampled_from([0, 100]))),
            Options(lazy_lowering=False),
        )
    )
    for name in data.draw(st.permutations(names))[:4]:
        late.reset()
        at_once.reset()
        text = f"<{name}null{end}".encode()
        while (allowed := late.allowed_token_ids()) and text:
            assert allowed == at_once.allowed_token_ids()
            fitting = [
                one
                for one in allowed
                if text.startswith(MANY_INFO.decoded_vocab[one]) and one < MANY_INFO.vocab_size - 1
            ]
            chosen = data.draw(st.sampled_from(fitting or allowed))
            assert late.accept_token(chosen)
            assert at_once.accept_token(chosen)
            text = text[len(MANY_INFO.decoded_vocab[chosen]) :]
        assert allowed == at_once.allowed_token_ids()


def test_what_the_caller_does_later_changes_nothing() -> None:
    form = whole(triggered([tag("<a>", arguments(json.loads(json.dumps(OBJECT))), "</a>")], ["<a"]))
    grammar = Grammar.from_structural_tag(form)
    key, said = grammar.key, form["format"]["tags"][0]
    said["content"]["json_schema"]["properties"]["a"]["type"] = "null"
    said["end"] = 3
    form["format"]["tags"].clear()
    matcher = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar))
    assert matcher.accept_string('<a>{"a": "x"}</a>')
    assert grammar.key == key
    assert Grammar.from_structural_tag(grammar.source).ir.rules == grammar.ir.rules  # in another order


def test_tokens_of_calls_that_wait_are_looked_up_when_compiling() -> None:
    few = TokenizerInfo([b"a", b"b"], stop_token_ids=[])
    for made in (False, True):
        for end in ("</call>", "</a>"):
            form = whole(triggered([tag("<a>", arguments(OBJECT), end)], ["<a"]))
            grammar = Grammar.from_structural_tag(form, tokenizer_info=INFO)
            if made:
                assert GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar)).accept_string("<a>")
            if end == "</a>":
                GrammarCompiler(few).compile_grammar(grammar)
                continue
            with pytest.raises(GrammarError, match="names token 7"):
                GrammarCompiler(few).compile_grammar(grammar)


def test_an_equal_request_is_compiled_once() -> None:
    def request(end: str) -> Format:
        return json.loads(json.dumps(whole(triggered([tag("<a>", arguments(OBJECT), end)], ["<a"]))))

    compiler = GrammarCompiler(INFO)
    compiled = compiler.compile_structural_tag(request("</a>"))
    assert compiler.compile_structural_tag(json.dumps(request("</a>"))) is compiled
    assert compiler.compile_structural_tag(request("</b>")) is not compiled
    assert "2 grammars" in repr(compiler)
    compiler.clear_cache()
    assert compiler.compile_structural_tag(request("</a>")) is not compiled


def test_rules_of_equal_tools_have_equal_keys_and_others_have_not() -> None:
    def keys(tools: list[Format], info: Any = INFO) -> dict[str, bytes]:
        ir = Grammar.from_structural_tag(whole(triggered(tools, ["<"])), tokenizer_info=info).lazy_ir
        for name in list(ir.rules):
            ir.expand(name)
        return {name: rule.key for name, rule in ir.rules.items() if isinstance(rule, DeferredRule)}

    one, two = tag("<a>", arguments(OBJECT), "</a>"), tag("<b>", arguments(OBJECT), "</a>")
    assert keys([one])["a"] == keys([two, one])["a"] != keys([tag("<a>", arguments({}), "</a>")])["a"]
    named = tag("<a>", arguments(OBJECT), "</call>")
    assert keys([named])["a"] != keys([named], None)["a"]


def test_parts_of_tools_that_the_algebra_reads_are_written_once() -> None:
    part = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 3}}, "minProperties": 1}

    def rules(count: int) -> int:
        closed = {"type": "object", "additionalProperties": False, "maxProperties": 2}
        tools = [
            tag(f"<{i}>", arguments({"properties": {"x": part, f"y{i}": {"type": "null"}}} | closed), "</>")
            for i in range(count)
        ]
        ir = Grammar.from_structural_tag(whole({"type": "or", "elements": tools})).lazy_ir
        return len(ir.complete().rules)

    assert rules(9) - rules(2) == 7  # the object around the part, in each

    matcher = GrammarMatcher(
        GrammarCompiler(INFO).compile_structural_tag(
            whole(
                {
                    "type": "or",
                    "elements": [
                        tag("<a>", arguments({"minProperties": 1, "properties": {"x": part}}), "</>"),
                        tag("<b>", arguments({"maxProperties": 2, "properties": {"x": part}}), "</>"),
                    ],
                }
            )
        )
    )
    for text, taken in (('<b>{"x": {"n": 6}}</>', True), ('<b>{"x": {"n": 7}}</>', False), ("<b>{}</>", True)):
        matcher.reset()
        assert (matcher.accept_string(text) and matcher.is_completed()) is taken, text


@pytest.mark.parametrize("count", [3, 12])
@pytest.mark.parametrize("more", [{}, {"maxProperties": 1}], ids=["deferrable", "read"])
def test_what_follows_a_beginning_may_be_nothing(count: int, more: dict[str, object]) -> None:
    """Arguments in XML without a member, and an end that is empty: the text may end behind the beginning."""
    vocabulary = [*(bytes([byte]) for byte in range(0x20, 0x7F)), b"<stop>"]
    info = TokenizerInfo(vocabulary, stop_token_ids=[95])
    nothing = {"type": "object", "properties": {}, "additionalProperties": False} | more
    tags = [tagged(f"<t{number}>", {"type": "integer"}, "</>") for number in range(count)]
    last = tagged("<x>", nothing, "")
    last["content"]["style"] = "qwen_xml"
    form = {"type": "tags_with_separator", "tags": [*tags, last], "separator": ","}
    matcher = GrammarMatcher(GrammarCompiler(info).compile_structural_tag({"format": form}))
    assert matcher.accept_string("<x>")
    assert matcher.is_completed()
    assert matcher.accept_string(",<t0>5")


def test_a_list_whose_read_tags_name_tokens_shares_no_token_sets_with_one_that_does_not() -> None:
    vocabulary = [*(bytes([byte]) for byte in range(0x20, 0x7F)), *(b">%d" % number for number in range(20_000))]
    token, end = len(vocabulary), len(vocabulary) + 1
    vocabulary += [b">11<e", b"<end>", b"<stop>"]
    info = TokenizerInfo(vocabulary, stop_token_ids=[end + 1], special_token_ids=[end, end + 1])
    tags = [tagged(f"<t{number}>", {"type": "integer"}, "</>") for number in range(12)]
    tags.append(tagged("<x>", {"type": "integer", "multipleOf": 11}, "<end>"))
    form = {"format": {"type": "triggered_tags", "triggers": ["<"], "tags": tags}}
    compiler = GrammarCompiler(info)
    text = GrammarMatcher(compiler.compile_grammar(Grammar.from_structural_tag(form)))  # `<end>` is text here
    assert text.accept_string("<x")
    assert token in text.allowed_token_ids()
    named = GrammarMatcher(compiler.compile_structural_tag(form))
    assert named.accept_string("<x")
    assert token not in named.allowed_token_ids()


@pytest.mark.parametrize("count", [3, 12])
def test_grammars_share_the_free_text_around_a_few_calls_alone(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of what many calls are would be worked out from all of them, within the first mask."""
    asked = []

    def digest(text: bytes) -> Any:
        asked.append(text)
        return sha256(text)

    monkeypatch.setattr(tag_lists, "sha256", digest)
    tags = [tagged(f"<t{number}>", {"type": "integer"}, "</>") for number in range(count)]
    form = {"format": {"type": "triggered_tags", "triggers": ["<"], "tags": tags}}
    compiler = GrammarCompiler(INFO, options=Options.laboratory(direct_limit=0), cache_enabled=False)
    one, other = (GrammarMatcher(compiler.compile_structural_tag(form)) for _ in range(2))
    assert one.allowed_token_ids() == other.allowed_token_ids()
    assert (other.compiled.cache_stats().pool_hits > 0) == (len(asked) > 0) == (count == 3)


def tagged(begin: str, schema: dict[str, object], end: str) -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": {"type": "json_schema", "json_schema": schema}, "end": end}
