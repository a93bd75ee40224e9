"""Our backends under the calls of vLLM and SGLang, beside XGrammar under the same calls."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernels_core import GrammarError, GrammarWarning, TokenizerInfo  # noqa: E402
from tests.compat import fake_servers as fakes  # noqa: E402
from tests.compat import server_calls as calls  # noqa: E402
from workbench.compat.servers import requests, sglang, vllm  # noqa: E402
from workbench.compat.servers.requests import ServerInterfaceError, read_request  # noqa: E402
from workbench.compat.xgrammar import structural_tag  # noqa: E402

INFO = TokenizerInfo(calls.TOKENS, vocab_size=calls.SIZE, stop_token_ids=[calls.STOP])
RESULTS: dict[str, Any] = json.loads(calls.RECORDED.read_text())


class Settings:
    structured_outputs_config = None


class OverVllm:
    """Our backend for vLLM, as the scenarios ask for it: with the layout of JSON that was recorded."""

    def __init__(self, backend: Any = None) -> None:
        self.backend = backend or vllm.Backend(Settings, INFO, calls.SIZE)
        self.backend.layout = {"any_whitespace": False}

    def compile(self, kind: str, text: str) -> Any:
        return self.backend.compile_grammar(fakes.Options[kind.upper()], text)

    def forced(self, grammar: Any) -> str:
        return grammar.find_jump_string() or ""

    def jump(self, grammar: Any, old: list[int], new: list[int]) -> None:
        grammar.jump(old, new)

    def apply(self, logits: torch.Tensor, bitmask: torch.Tensor) -> None:
        sglang.RequestGrammar.apply_vocab_mask(logits, bitmask)


class OverSglang:
    """Our backend for SGLang, with what it has of vLLM's methods put beside it."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def compile(self, kind: str, text: str) -> Any:
        names = {"json_object": ("json", '{"type": "object"}'), "grammar": ("ebnf", text)}
        return _VllmMethods(self.backend.asked(*names.get(kind, (kind, text))))

    def forced(self, grammar: Any) -> str:
        helper = grammar.own.try_jump_forward(None)
        return "" if helper is None else grammar.own.jump_forward_str_state(helper)[0]

    def jump(self, grammar: Any, old: list[int], new: list[int]) -> None:
        grammar.own.jump_and_retokenize(old, new, -1)

    def apply(self, logits: torch.Tensor, bitmask: torch.Tensor) -> None:
        moved = self.backend.move_vocab_mask(bitmask, logits.device)
        self.backend.apply_vocab_mask(logits=logits, vocab_mask=moved)


class _VllmMethods:
    def __init__(self, own: sglang.RequestGrammar) -> None:
        self.own = own
        self.fill_bitmask, self.is_terminated = own.fill_vocab_mask, own.is_terminated
        self.rollback = own.rollback

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        try:
            for token in tokens:
                self.own.accept_token(token)
        except ValueError:
            return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        taken = 0
        while taken < len(tokens) and not self.is_terminated() and self.accept_tokens("", [tokens[taken]]):
            taken += 1
        self.own.rollback(taken)
        return tokens[:taken]

    def reset(self) -> None:
        self.own = self.own.copy()  # type: ignore[assignment]
        self.fill_bitmask, self.is_terminated = self.own.fill_vocab_mask, self.own.is_terminated
        self.rollback = self.own.rollback


@pytest.fixture
def sglang_backend(monkeypatch: pytest.MonkeyPatch) -> Any:
    registered, choices = fakes.install_sglang(monkeypatch)
    sglang.register()
    assert choices[-1] == "maskscope"
    return registered["maskscope"](fakes.Arguments(), INFO, calls.SIZE, {calls.STOP})


@pytest.fixture
def registered_vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    modules = fakes.install_vllm(monkeypatch)
    yield modules
    vllm.unregister()


def as_json(found: Any) -> Any:
    return json.loads(json.dumps(found))


Scenario = Callable[[Any], list[Any]]


@pytest.mark.parametrize("scenario", calls.SCENARIOS)
def test_vllm_gets_what_xgrammar_gives(scenario: Scenario) -> None:
    assert as_json(scenario(OverVllm())) == RESULTS[scenario.__name__]


@pytest.mark.parametrize("scenario", calls.SCENARIOS)
def test_sglang_gets_what_xgrammar_gives(scenario: Scenario, sglang_backend: Any) -> None:
    assert as_json(scenario(OverSglang(sglang_backend))) == RESULTS[scenario.__name__]


@pytest.mark.parametrize("scenario", calls.SCENARIOS)
def test_the_stand_in_gives_what_xgrammar_gives(scenario: Scenario) -> None:
    stand_in = importlib.import_module("workbench.compat.xgrammar")
    assert as_json(scenario(calls.PeerServer(stand_in))) == RESULTS[scenario.__name__]


@pytest.mark.skipif(importlib.util.find_spec("xgrammar") is None, reason="xgrammar is not installed")
@pytest.mark.parametrize("scenario", calls.SCENARIOS)
def test_what_was_recorded_is_what_xgrammar_gives(scenario: Scenario) -> None:
    assert as_json(scenario(calls.PeerServer(importlib.import_module("xgrammar")))) == RESULTS[scenario.__name__]


# -- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_dead_end_ends_its_request_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """Only stop tokens are allowed, so that logits stay a distribution; the stop token is then refused."""
    server = OverVllm()
    stuck, other = (server.compile("grammar", f'root ::= "x" "{end}"') for end in "zq")
    bitmask = calls.rows(2)
    for row, grammar in enumerate((stuck, other)):
        assert grammar.accept_tokens("r", [9])
        with caplog.at_level(logging.WARNING):
            grammar.fill_bitmask(bitmask, row)
    assert calls.allowed(bitmask, 0) == [calls.STOP]
    assert calls.allowed(bitmask, 1) == [15]
    assert stuck.error is not None
    assert "behind b'x'" in caplog.text
    assert other.error is None
    assert stuck.accept_tokens("r", [calls.STOP]) is False
    assert not stuck.is_terminated()
    stuck.rollback(1)
    assert stuck.error is None
    stuck.fill_bitmask(bitmask, 0)
    assert calls.allowed(bitmask, 0) == [9]


def test_ids_that_are_none_are_refused() -> None:
    grammar = OverVllm().compile("grammar", 'root ::= "x"+')
    for token in (-1, calls.SIZE, 10**9, 30):  # 30 is padding
        assert grammar.accept_tokens("r", [9, token]) is False
    assert grammar.num_processed_tokens == 4
    assert grammar.validate_tokens([9, -1, 9]) == [9]
    grammar.rollback(4)
    assert grammar.num_processed_tokens == 0


def test_text_cut_anew_that_does_not_fit_changes_nothing(sglang_backend: Any) -> None:
    grammar = sglang_backend.asked("ebnf", 'root ::= "x" [q<]+ "x"')
    for token in (9, 15, 14):
        grammar.accept_token(token)
    before = grammar.matcher.text
    with pytest.raises(ValueError, match="token 8, number 2"):
        grammar.jump_and_retokenize([9, 15, 14], [9, 14, 8], -1)
    assert grammar.matcher.text == before
    grammar.rollback(3)
    assert grammar.matcher.text == b""


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("json", "{", "JSON, line 1"),
        ("json", '{"type": "object", "$ref": "#/nowhere"}', "nowhere"),
        ("regex", "(", "line 1"),
        ("ebnf", "root ::= (", "line 1"),
        ("structural_tag", "[]", "needs a list of triggers"),
        ("structural_tag", '{"format": {"type": "token", "token": "<z>"}}', "<z>"),
    ],
)
def test_what_cannot_be_compiled_is_said(sglang_backend: Any, kind: str, text: str, reason: str) -> None:
    found = sglang_backend.asked(kind, text)
    assert isinstance(found, fakes.Invalid)
    assert reason in found.error_message
    kind = "grammar" if kind == "ebnf" else kind
    with pytest.raises((ValueError, RuntimeError)):
        OverVllm().compile(kind, text)


@pytest.mark.report(
    "vllm-project/vllm#53777, vllm-project/vllm#53181",
    "A draft is cut at the first token that the grammar refuses, and the request goes on from where it was.",
)
def test_choices_and_open_schemas() -> None:
    server = OverVllm()
    grammar = server.compile("choice", '["x", "1", "xq\\""]')
    assert grammar.validate_tokens([9, calls.STOP]) == [9, calls.STOP]
    assert grammar.validate_tokens([9, 9]) == [9]
    assert grammar.validate_tokens([9, 15, 2]) == [9, 15]  # "a" is one token too many
    for text in ('"x"', "[]", "[1]", "{"):
        with pytest.raises(ValueError, match="list of texts"):
            server.compile("choice", text)
    for tag in (
        {"structures": [{"begin": "<", "schema": None, "end": "x"}], "triggers": ["<"]},
        {"format": {"type": "tag", "begin": "<", "content": {"type": "json_schema", "json_schema": None}, "end": "x"}},
    ):
        grammar = server.compile("structural_tag", json.dumps(tag))
        assert grammar.validate_tokens([14, 8, 9]) == [14, 8, 9]  # <truex
        read_request("structural_tag", json.dumps(tag))
    with pytest.raises(ValueError, match="not known"):
        server.backend.compile_grammar("POEM", "")


def test_tags_as_the_classes_of_xgrammar_write_them() -> None:
    """vLLM and SGLang dump them with every key, and say `any_order` where the engine says `order`."""
    schema: dict[str, Any] = {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]}
    schema |= {"type": "object", "additionalProperties": False}
    for any_order, taken in ((False, [True, False]), (True, [True, True])):
        tag = structural_tag.StructuralTag(
            format=structural_tag.TagFormat(
                begin="<",
                content=structural_tag.JSONSchemaFormat(json_schema=schema, any_order=any_order),
                end="x",
            )
        )
        written = json.dumps(tag.model_dump())
        read_request("structural_tag", written)
        for text, fits in zip(('<{"a":1,"b":1}x', '<{"b":1,"a":1}x'), taken, strict=True):
            matcher = OverVllm().compile("structural_tag", written).matcher
            assert matcher.accept_string(text) is fits


def test_integers_are_digits() -> None:
    """A model would go on with zeros for ever."""
    schema = {"type": "integer"}
    older = {"structures": [{"begin": "<", "schema": schema, "end": "x"}], "triggers": ["<"]}
    newer = {
        "format": {"type": "tag", "begin": "<", "content": {"type": "json_schema", "json_schema": schema}, "end": "x"}
    }
    for kind, asked, begin in (
        ("json", schema, ""),
        ("structural_tag", older, "<"),
        ("structural_tag", older | {"at_least_one": True}, "<"),
        ("structural_tag", newer, "<"),
    ):
        matcher = OverVllm().compile(kind, json.dumps(asked)).matcher
        assert matcher.accept_string(begin + "12")
        assert not matcher.accept_string(".")


def test_tags_of_the_older_form_are_read_whole() -> None:
    """A schema may be JSON text; unknown keys and an `at_least_one` that is no boolean are refused where they stand."""
    tag = {"structures": [{"begin": "<", "schema": None, "end": "x"}], "triggers": ["<"]}
    for wrong, location in (
        (tag | {"structures": [tag["structures"][0] | {"typo": 1}]}, "#/structures/0"),
        (tag | {"at_least_one": "false"}, "#/format/at_least_one"),
    ):
        with pytest.raises(ValueError, match=location):
            read_request("structural_tag", json.dumps(wrong))
    text = tag | {"structures": [{"begin": "<", "schema": '{"type": "boolean"}', "end": "x"}]}
    for asked in (text, text | {"at_least_one": True}):
        grammar = OverVllm().compile("structural_tag", json.dumps(asked))
        assert grammar.validate_tokens([14, 8, 9]) == [14, 8, 9]  # <truex


def test_arguments_in_the_xml_of_qwen() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    tag = {"format": {"type": "qwen_xml_parameter", "json_schema": schema}}
    matcher = OverVllm().compile("structural_tag", json.dumps(tag)).matcher
    assert matcher.accept_string("<parameter=q>")


PHRASE = "this token is given by its text, which requires tokenizer_info"


@pytest.mark.parametrize(
    ("kind", "text", "mended"),
    [
        ("grammar", "start: <call>", True),
        ("grammar", "start: TEXT <[5]>\nTEXT: /(.|\\n)*/", True),
        ("structural_tag", json.dumps({"format": {"type": "token", "token": "<call>"}}), True),
        ("grammar", f'root ::= "{PHRASE}" missing', False),
        ("grammar", f'start: "{PHRASE}" missing', False),
        ("grammar", 'start: "a', False),
        ("structural_tag", json.dumps({"format": {"type": PHRASE}}), False),
        ("regex", "(", False),
    ],
)
def test_what_wants_a_vocabulary_is_told_by_the_error_and_not_by_its_words(kind: Any, text: str, mended: bool) -> None:
    if mended:
        read_request(kind, text)
    else:
        with pytest.raises(GrammarError) as caught:
            read_request(kind, text)
        assert not caught.value.needs_vocabulary


def test_stop_tokens_of_a_request() -> None:
    backend = vllm.Backend(Settings, INFO, calls.SIZE)
    grammar = backend.compile_grammar("REGEX", "x", stop_token_ids={11, 12})
    bitmask = calls.rows(1)
    assert grammar.accept_tokens("r", [9])
    grammar.fill_bitmask(bitmask, 0)
    assert calls.allowed(bitmask, 0) == [11, 12]
    assert grammar.accept_tokens("r", [12])
    assert grammar.is_terminated()


def test_a_vocabulary_that_cannot_end_is_refused() -> None:
    assert requests.read_vocabulary(INFO) is INFO
    with pytest.raises(ValueError, match="stop"):
        requests.read_vocabulary(TokenizerInfo(["a", "b"]))


def test_tokenizers_of_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.BPE({"x": 0, "q": 1, "xq": 2, "</s>": 3}, [("x", "q")]))
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = tokenizers.decoders.ByteLevel()
    words.add_special_tokens(["</s>"])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>")
    backend = vllm.Backend(Settings, fast, 40)
    assert backend.allocate_token_bitmask(3).shape == (3, 2)
    assert backend.compile_grammar("REGEX", "xq").validate_tokens([2, 3]) == [2, 3]

    class Tekkenizer:
        """mistral-common's, inside vLLM's class for Mistral's tokenizers: its tokens are bytes, and some control."""

        n_words, special_ids, eos_id = 4, (2, 3), 2

        def id_to_piece(self, token: int) -> str:
            return ("x", "\ufffd", "</s>", "xx")[token]

        def id_to_byte_piece(self, token: int) -> bytes:
            return (b"x", b"\xc3")[token]

    inner = SimpleNamespace(instruct_tokenizer=SimpleNamespace(tokenizer=Tekkenizer()))
    backend = vllm.Backend(Settings, SimpleNamespace(mistral=inner), 40)
    with pytest.warns(GrammarWarning, match="control token 3"):
        grammar = backend.compile_grammar("REGEX", "xxx|x\xe9")
    assert grammar.validate_tokens([0, 3]) == [0]  # a control token is no text
    assert grammar.validate_tokens([0, 1]) == [0, 1]  # half of a letter
    assert grammar.validate_tokens([0, 0, 0, 2]) == [0, 0, 0, 2]


# -- in the servers --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_registering_without_the_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerInterfaceError, match="vllm is not installed"):
        vllm.register()
    with pytest.raises(ServerInterfaceError, match="sglang is not installed"):
        sglang.register()
    monkeypatch.delenv(vllm.SWITCH, raising=False)
    vllm.plugin()  # nobody asked for it
    sglang.plugin()  # leaves the server as it is


def test_vllm_finds_ours_in_the_place_of_another(registered_vllm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = registered_vllm["xgrammar"].validate_xgrammar_grammar
    monkeypatch.setenv(vllm.SWITCH, "xgrammar")
    vllm.plugin()
    backend_class = registered_vllm["manager"].XgrammarBackend
    assert vllm.register() is backend_class
    assert registered_vllm["processor"].validate_xgrammar_grammar is vllm.validate
    backend = backend_class(Settings, tokenizer=INFO, vocab_size=calls.SIZE)
    assert isinstance(backend, fakes.VllmBackend)
    grammar = backend.compile_grammar(fakes.Options.REGEX, "x")
    assert isinstance(grammar, fakes.VllmGrammar)
    assert as_json(calls.speculation(OverVllm(backend))) == RESULTS["speculation"]
    backend.destroy()
    assert grammar.accept_tokens("r", [9, calls.STOP])
    vllm.unregister()
    assert registered_vllm["processor"].validate_xgrammar_grammar is theirs
    assert registered_vllm["manager"].XgrammarBackend is object
    monkeypatch.setenv(vllm.SWITCH, "outlines")
    with pytest.raises(ServerInterfaceError, match="MASKSCOPE_VLLM is one of"):
        vllm.plugin()
    with pytest.raises(ValueError, match="instead_of"):
        vllm.register("outlines")  # type: ignore[arg-type]


def test_in_the_place_of_guidance(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM asks the class whether it can read the tokenizer, and has a setting for this backend alone."""
    modules = fakes.install_vllm(monkeypatch, "guidance")
    vllm.register("guidance")
    home = modules["guidance"]
    assert home.GuidanceBackend.is_tokenizer_supported(object())
    modules["processor"].validate_guidance_grammar(fakes.Params(fakes.Asked(regex="x")), tokenizer=object())

    closed = SimpleNamespace(structured_outputs_config=SimpleNamespace(disable_additional_properties=True))
    schema = '{"type": "object", "properties": {"x": {"type": "integer"}}}'
    texts = ['{"x": 1}', '{"q": 1}']
    for settings, taken in ((Settings, [True, True]), (closed, [True, False])):
        backend = home.GuidanceBackend(settings, INFO, calls.SIZE)
        found = [backend.compile_grammar("JSON", schema).matcher.accept_string(text) for text in texts]
        assert found == taken
    with pytest.raises(ValueError, match="JSON, line 1"):
        home.GuidanceBackend(closed, INFO, calls.SIZE).compile_grammar("JSON", "{")
    vllm.unregister()


@pytest.mark.parametrize("place", ["xgrammar", "guidance"])
def test_settings_are_read_inside_tags_in_the_place_of_guidance(monkeypatch: pytest.MonkeyPatch, place: Any) -> None:
    """As vLLM's own backends do; in both forms of tags."""
    fakes.install_vllm(monkeypatch, place)
    own = vllm.register(place)
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    form = {"type": "json_schema", "json_schema": schema}
    call = {"type": "tag", "begin": "[", "content": {"type": "or", "elements": [form]}, "end": "]"}
    tags = [
        {"type": "structural_tag", "format": call},
        {"structures": [{"begin": "[", "schema": schema, "end": "]"}], "triggers": ["["]},
    ]
    texts = ['[{"x":1}]', '[{"x": 1}]', '[{"q":1}]']
    for setting, refused in (
        ("disable_fallback", []),
        ("disable_any_whitespace", texts[1:2]),
        ("disable_additional_properties", texts[2:]),
    ):
        settings = SimpleNamespace(structured_outputs_config=SimpleNamespace(**{setting: True}))
        backend = own(settings, INFO, calls.SIZE)
        for tag in map(json.dumps, tags):
            matchers = [backend.compile_grammar("STRUCTURAL_TAG", tag).matcher for _ in texts]
            found = [text for text, one in zip(texts, matchers, strict=True) if not one.accept_string(text)]
            assert found == (refused if place == "guidance" else [])
    vllm.unregister()


def test_json_of_vllm_without_blanks() -> None:
    compact = SimpleNamespace(structured_outputs_config=SimpleNamespace(disable_any_whitespace=True))
    schema = '{"type": "object", "properties": {"x": {"type": "array"}, "q": {}}}'
    for settings, taken in ((Settings, [True, True]), (compact, [True, False])):
        backend = vllm.Backend(settings, INFO, calls.SIZE)
        matchers = [backend.compile_grammar("JSON", schema).matcher for _ in taken]
        texts = '{"x":[1,2],"q":{}}', '{"x": [1, 2]}'
        assert [one.accept_string(text) for one, text in zip(matchers, texts, strict=True)] == taken


def test_requests_are_read_before_they_are_queued(registered_vllm: Any) -> None:
    """With the engine's verdict: keywords that vLLM refuses on XGrammar's behalf are taken."""
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "multipleOf": 5},
            "s": {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2]}},
        },
        "patternProperties": {"^x": {"type": "integer"}},
    }
    for asked in (
        fakes.Asked(json=schema),
        fakes.Asked(json=json.dumps(schema)),
        fakes.Asked(json_object=True),
        fakes.Asked(regex="a+"),
        fakes.Asked(choice=["a", "b"]),
        fakes.Asked(grammar='root ::= "a"'),
        fakes.Asked(grammar="start: <z>"),  # a token by its text: looked up by what compiles
        fakes.Asked(structural_tag='{"format": {"type": "token", "token": "<z>"}}'),
    ):
        vllm.validate(fakes.Params(asked))
    vllm.validate(fakes.Params(None))
    for asked, reason in (
        (fakes.Asked(json="{"), "JSON, line 1"),
        (fakes.Asked(regex="("), "line 1"),
        (fakes.Asked(choice=[]), "list of texts"),
        (fakes.Asked(grammar="root ::= ("), "line 1"),
        (fakes.Asked(structural_tag="{}"), "format"),
        (fakes.Asked(), "says no grammar"),
    ):
        with pytest.raises(fakes.VllmError, match=reason):
            vllm.validate(fakes.Params(asked))


def test_another_interface_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.install_vllm(monkeypatch)
    home = importlib.import_module("vllm.v1.structured_output.backend_xgrammar")
    del home.validate_xgrammar_grammar
    with pytest.raises(ServerInterfaceError, match="has no validate_xgrammar_grammar"):
        vllm.register()
    with pytest.raises(ServerInterfaceError, match=r"no module vllm.v1.structured_output.backend_guidance"):
        vllm.register("guidance")
    fakes.install_sglang(monkeypatch)
    base = importlib.import_module("sglang.srt.constrained.base_grammar_backend")
    del base.InvalidGrammarObject
    with pytest.raises(ServerInterfaceError, match="InvalidGrammarObject"):
        sglang.register()
    base.INVALID_GRAMMAR_OBJ = object()  # as older versions have it
    backend = sglang.register("ours")(INFO, calls.SIZE)
    assert backend.dispatch_regex("(") is base.INVALID_GRAMMAR_OBJ
    del base.register_grammar_backend
    with pytest.raises(ServerInterfaceError, match="has no register_grammar_backend"):
        sglang.register()


def test_sglang_keeps_and_copies(sglang_backend: Any) -> None:
    first = sglang_backend.asked("json", "$$ANY$$")
    assert isinstance(first, fakes.SglangGrammar)
    first.accept_token(8)
    assert first.current_token == 8
    second = sglang_backend.asked("json", "$$ANY$$")
    assert second.matcher.num_steps == 0
    assert second.grammar_stats == fakes.Stats(is_cache_hit=True, dispatch_type="json")
    assert second.cache_memory_bytes() > 0
    first.accept_token(calls.STOP)
    assert first.is_terminated()
    first.accept_token(9)  # behind the end
    with pytest.raises(ValueError, match="token 5 is not taken behind b'': the grammar refuses it"):
        second.accept_token(5)
    assert second.try_jump_forward(None) is None
    sglang_backend.reset()
    assert not sglang_backend.cache


def test_sglang_fills_rows_at_once_and_filters_tokens(sglang_backend: Any) -> None:
    class Other:
        """Another kind of grammar in the same batch."""

        def fill_vocab_mask(self, vocab_mask: torch.Tensor, row: int) -> None:
            vocab_mask[row].fill_(5)

    grammars = [sglang_backend.asked("regex", text) for text in ("x", "q+", "[12]{1,3}")]
    one_by_one = sglang_backend.allocate_vocab_mask(calls.SIZE, 6, "cpu")
    at_once = sglang_backend.allocate_vocab_mask(calls.SIZE, 6, "cpu")
    entries = [fakes.Entry(row, grammar) for row, grammar in zip((4, 0, 2), [*grammars], strict=True)]
    entries.append(fakes.Entry(5, Other()))
    for entry in entries:
        entry.grammar.fill_vocab_mask(one_by_one, entry.row)
    grammars[0].fill_vocab_mask_batched(entries, at_once)
    assert torch.equal(one_by_one, at_once)
    assert (at_once[[1, 3]] == -1).all()
    sglang_backend.set_token_filter(at_once, [9, 31, 64], 0, is_allowed=False, reset_vocab_mask=True)
    assert set(range(calls.SIZE)) - set(calls.allowed(at_once, 0)) == {9, 31, 64}
    sglang_backend.set_token_filter(at_once, [31, 33], 1)
    assert calls.allowed(at_once, 1) == [31, 33]
    sglang_backend.set_token_filter(at_once, [33], 1, is_allowed=False, reset_vocab_mask=False)
    sglang_backend.set_token_filter(at_once, [2], 1, reset_vocab_mask=False)
    assert calls.allowed(at_once, 1) == [2, 31]
    assert sglang_backend.is_support_token_filter
    grammars[0].reset_vocab_mask(at_once)
    assert (at_once == -1).all()


def test_a_text_that_has_ended_takes_no_other_row_with_it(sglang_backend: Any) -> None:
    ended, other = (sglang_backend.asked("ebnf", 'root ::= "x"') for _ in range(2))
    for token in (9, calls.STOP):
        ended.accept_token(token)
    assert ended.is_terminated()
    bitmask = sglang_backend.allocate_vocab_mask(calls.SIZE, 2, "cpu")
    ended.fill_vocab_mask_batched([fakes.Entry(0, ended), fakes.Entry(1, other)], bitmask)
    assert [calls.allowed(bitmask, row) for row in range(2)] == [[calls.STOP], [9]]


def test_reasoning_stands_before_a_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """In SGLang's own wrapper; a version whose wrapper takes something else is refused, and not ignored."""
    registered, _ = fakes.install_sglang(monkeypatch)
    sglang.register()
    arguments = fakes.Arguments(reasoning_parser="qwen3", enable_strict_thinking=True)
    made = registered["maskscope"](arguments, INFO, calls.SIZE, {calls.STOP})
    assert isinstance(made, fakes.ReasonerBackend)
    assert isinstance(made.grammar_backend, sglang.GrammarBackend)
    assert made.reasoning_parser.model_type == "qwen3"
    assert made.reasoning_parser.tokenizer is INFO
    assert made.strict
    module = importlib.import_module("sglang.srt.constrained.reasoner_grammar_backend")
    monkeypatch.setattr(module, "ReasonerGrammarBackend", lambda grammar_backend, think_end_id: None)
    with pytest.raises(ServerInterfaceError, match="reasoning"):
        registered["maskscope"](arguments, INFO, calls.SIZE, None)


def test_blanks_are_as_many_as_the_server_says(monkeypatch: pytest.MonkeyPatch) -> None:
    registered, _ = fakes.install_sglang(monkeypatch)
    sglang.register()
    arguments = fakes.Arguments(constrained_json_disable_any_whitespace=False, constrained_json_max_whitespace_cnt=2)
    matcher = registered["maskscope"](arguments, INFO, calls.SIZE).asked("json", '{"type": "array"}').matcher
    assert matcher.accept_string("[  true")
    assert not matcher.accept_string("   ,")


def test_a_tool_that_must_be_called_is_called(sglang_backend: Any) -> None:
    """SGLang says so in the older form of tags, whose text is free otherwise."""
    tag = {"structures": [{"begin": "<", "schema": None, "end": "x"}], "triggers": ["<"]}
    free = sglang_backend.asked("structural_tag", json.dumps(tag | {"at_least_one": False}))
    assert free.fitting([9, calls.STOP]) == [9, calls.STOP]
    bound = sglang_backend.asked("structural_tag", json.dumps(tag | {"at_least_one": True}))
    assert bound.fitting([9, calls.STOP]) == []
    assert bound.fitting([14, 8, 9, calls.STOP]) == [14, 8, 9, calls.STOP]  # <truex
    for wrong in ("x", ["x"], [{"begin": "<"}]):
        found = sglang_backend.asked("structural_tag", json.dumps({"structures": wrong, "at_least_one": True}))
        assert isinstance(found, fakes.Invalid)


def test_a_request_has_stop_tokens_of_its_own() -> None:
    backend = vllm.Backend(Settings, INFO, calls.SIZE)
    grammar = backend.compile_grammar("REGEX", "xq", stop_token_ids=[11])
    assert grammar.validate_tokens([9, 15, 11]) == [9, 15, 11]
    assert grammar.accept(9)
    assert grammar.forced() == "q"
