"""What the objects of this module add to the engine's: the cache and its limit, errors of both kinds, settings."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

import kernels_core
import workbench.compat.xgrammar as xgr
from kernels_core import CompiledGrammar as EngineCompiled
from kernels_core import Grammar as EngineGrammar
from kernels_core import GrammarCompiler as EngineCompiler
from workbench.compat.xgrammar.bitmask import _apply_on_device
from workbench.compat.xgrammar.exception import UnsupportedFeatureError, UnsupportedSchemaError

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")

INFO = xgr.TokenizerInfo(["a", "b", "ab", "</s>"])


def engine_compiled(text: str) -> EngineCompiled:
    return EngineCompiler(INFO.engine).compile_grammar(EngineGrammar.from_ebnf(text))


# -- errors -------------------------------------------------------------------------------------------------------


def test_an_error_is_of_both_families_and_keeps_its_place() -> None:
    with pytest.raises(kernels_core.GrammarSyntaxError) as caught:
        xgr.Grammar.from_ebnf('root ::= "a"\nx ::= "b')
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert isinstance(error, ValueError)
    assert (error.line, error.column) == (2, 7)
    assert "^" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_schema_error_lists_every_reason() -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        xgr.Grammar.from_json_schema({"type": "objekt", "properties": {"a": {"minimum": "x"}}})
    assert isinstance(caught.value, RuntimeError)
    assert len(caught.value.problems) == 2


def test_features_are_refused_by_name() -> None:
    text = {"type": "any_text", "max_tokens": 3}
    limited = {"format": {"type": "tag", "begin": "<", "content": text, "end": "aa"}}
    compiler = xgr.GrammarCompiler(INFO)
    for call, name in (
        (lambda: xgr.Grammar.from_structural_tag(limited), "#/format/content/max_tokens"),
        (lambda: compiler.compile_grammar('root[lazy, max_tokens=3] ::= "a"'), "max_tokens"),
    ):
        with pytest.raises(UnsupportedFeatureError, match=name):
            call()


MODELS = (
    *("llama", "kimi", "kimi_k3", "deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4", "deepseek_v4_1"),
    *("qwen_3", "qwen_3_5", "qwen_3_coder", "mimo", "harmony", "minimax", "minimax_m3", "glm_4_7", "cohere", "exaone"),
)
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_xgrammar_has_a_template(model: str) -> None:
    for choice in ("auto", "required"):
        tag = xgr.get_model_structural_tag(model, TOOLS, choice, any_order=True, max_whitespace_cnt=2)
        assert isinstance(tag, xgr.StructuralTag)
        assert xgr.Grammar.from_structural_tag(tag.model_dump_json()) == xgr.Grammar.from_structural_tag(tag)


def test_empty_objects_and_wrong_types_say_so() -> None:
    for call in (lambda: str(xgr.Grammar()), lambda: xgr.CompiledGrammar().grammar):
        with pytest.raises(TypeError, match="empty"):
            call()
    with pytest.raises(TypeError, match="accept_string"):
        xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_regex("a")).accept_string(5)


# -- compiling ----------------------------------------------------------------------------------------------------


def test_a_grammar_larger_than_the_limit_is_compiled_and_not_kept() -> None:
    for limit in (0, 1, 10):
        compiler = xgr.GrammarCompiler(INFO, cache_limit_bytes=limit)
        assert compiler.compile_regex("a+") != compiler.compile_regex("a+")
        assert compiler.get_cache_size_bytes() == 0
        assert compiler.cache_limit_bytes == limit


def test_clearing_leaves_nothing() -> None:
    compiler = xgr.GrammarCompiler(INFO)
    compiled = compiler.compile_json_schema({"enum": ["a", 7]})
    assert compiler.engine.pool is not None
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_string('"')
    matcher.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 4))
    assert compiler.get_cache_size_bytes() >= compiled.memory_size_bytes
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0
    assert xgr.GrammarMatcher(compiled).accept_string('"a"')


def test_without_a_cache_every_request_compiles() -> None:
    compiler = xgr.GrammarCompiler(INFO, cache_enabled=False)
    assert compiler.compile_regex("a") != compiler.compile_regex("a")
    assert compiler.get_cache_size_bytes() == 0


def test_requests_that_differ_are_kept_apart() -> None:
    compiler = xgr.GrammarCompiler(INFO)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    strict, open_ = compiler.compile_json_schema(schema), compiler.compile_json_schema(schema, strict_mode=False)
    text = '{"b": 1}'
    assert [xgr.GrammarMatcher(item).accept_string(text) for item in (strict, open_)] == [False, True]
    rules = 'root ::= "a"\nother ::= "b"'
    first, second = compiler.compile_grammar(rules), compiler.compile_grammar(rules, root_rule_name="other")
    assert [xgr.GrammarMatcher(item).accept_string("b") for item in (first, second)] == [False, True]
    assert compiler.compile_grammar(rules) == first


def test_a_vocabulary_may_be_empty_where_texts_are_matched() -> None:
    info = xgr.TokenizerInfo([])
    assert (info.vocab_size, info.decoded_vocab, info.stop_token_ids) == (0, [], [])
    assert xgr.TokenizerInfo.deserialize_json(info.serialize_json()).vocab_size == 0
    compiler = xgr.GrammarCompiler(info)
    for compiled in (compiler.compile_grammar('root ::= "a" "b"*'), compiler.compile_regex("ab*")):
        matcher = xgr.GrammarMatcher(compiled)
        assert matcher.accept_string("abb")
        assert not matcher.accept_string("c")
        assert matcher.is_completed()
        with pytest.warns(RuntimeWarning, match="outside"):
            assert not matcher.accept_token(0)
        assert not matcher.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 0))


# -- grammars -----------------------------------------------------------------------------------------------------


def test_printed_grammars_start_at_root() -> None:
    for text, start in (('number ::= [0-9]+ root?\nroot ::= "x"', "number"), ('value ::= "x"', "value")):
        grammar = xgr.Grammar.from_ebnf(text, root_rule_name=start)
        again = xgr.Grammar.from_ebnf(str(grammar))
        for word in ("7x", "x", "77", ""):
            verdicts = [xgr.testing._is_grammar_accept_string(item, word) for item in (grammar, again)]
            assert verdicts[0] == verdicts[1]


def test_grammars_of_every_source_can_be_written_and_read() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 300}}, "required": ["a"]}
    call = {"type": "tag", "begin": "<f>", "content": {"type": "json_schema", "json_schema": schema}, "end": "</f>"}
    tag = {"format": {"type": "triggered_tags", "triggers": ["<f"], "tags": [call]}}
    compiler = xgr.GrammarCompiler(INFO)
    texts = ('{"a": "x"}', '{"a": 1}', 'x<f>{"a": "y"}</f>', "x<f>", "", "[{}]")
    for compiled in (
        compiler.compile_json_schema(schema),
        compiler.compile_structural_tag(tag),
        compiler.compile_builtin_json_grammar(),
    ):
        loaded = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), INFO)
        printed = xgr.Grammar.from_ebnf(str(compiled.grammar))
        accepts = xgr.testing._is_grammar_accept_string
        verdicts = [accepts(compiled.grammar, text) for text in texts]
        assert any(verdicts)
        assert verdicts == [accepts(loaded.grammar, text) for text in texts]
        assert verdicts == [accepts(printed, text) for text in texts]


def test_converted_grammars_are_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    grammar = xgr.Grammar.from_regex("a+", print_converted_ebnf=True)
    assert capsys.readouterr().out.strip() == str(grammar).strip()
    xgr.Grammar.from_json_schema({"type": "null"}, print_converted_ebnf=True)
    assert "null" in capsys.readouterr().out


def test_schemas_in_tags_are_strict_and_their_integers_plain() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    forms = [{"type": "json_schema", "json_schema": schema}]
    forms.append({"type": "tag", "begin": "", "content": forms[0], "end": ""})
    forms.append({"type": "sequence", "elements": [forms[1], {"type": "const_string", "value": ""}]})
    for form in forms:
        grammar = xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": form})
        texts = ('{"a": 1}', '{"a": 1, "b": 2}', '{"a": 1.0}')
        assert [xgr.testing._is_grammar_accept_string(grammar, text) for text in texts] == [True, False, False]


def test_tags_nest_as_deeply_as_is_set() -> None:
    form: dict[str, Any] = {"type": "const_string", "value": "x"}
    for _ in range(3):
        form = {"type": "optional", "content": form}
    with xgr.max_recursion_depth(5):
        assert xgr.Grammar.from_structural_tag({"format": form})
        with pytest.raises(xgr.InvalidStructuralTagError, match="deeper than 5"):
            xgr.Grammar.from_structural_tag({"format": {"type": "optional", "content": form}})
    assert xgr.get_max_recursion_depth() == 10_000
    for _ in range(500):
        form = {"type": "optional", "content": form}
    with pytest.raises(xgr.InvalidStructuralTagError, match="nested"):
        xgr.Grammar.from_structural_tag({"format": form})


# -- matchers -----------------------------------------------------------------------------------------------------


def test_forks_keep_what_the_matcher_was_told() -> None:
    compiled = xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a" "b"*')
    matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True, default_temperature=0.5)
    matcher.accept_token(0)
    fork = matcher.fork()
    assert fork.accept_token(1)
    assert (fork.is_terminated(), fork.temperature, fork.stop_token_ids) == (True, 0.5, [3])
    matcher.rollback(1)
    assert not matcher.is_terminated()
    assert fork.engine.text == b"ab"
    assert fork != matcher
    assert matcher.get_captures() == []


def test_refusals_that_are_mistakes_warn() -> None:
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_regex("a"))
    with pytest.warns(RuntimeWarning, match="outside"):
        assert not matcher.accept_token(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not matcher.accept_token(1)
        assert matcher.accept_token(0)
        assert matcher.accept_token(3)
    with pytest.warns(RuntimeWarning, match="ended"):
        assert not matcher.accept_string("")
    with pytest.warns(DeprecationWarning, match="unlimited"):
        assert xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_regex("a"), max_rollback_tokens=2)


def test_a_dead_end_is_an_empty_mask_and_no_error() -> None:
    for text, options in (('root ::= "a" "c"', {}), ('root ::= "a"', {"terminate_without_stop_token": True})):
        compiled = xgr.GrammarCompiler(INFO).compile_grammar(text)
        matcher, other = (xgr.GrammarMatcher(compiled, **options) for _ in range(2))
        assert matcher.accept_token(0)
        masks = xgr.allocate_token_bitmask(2, 4)
        assert matcher.fill_next_token_bitmask(masks, 1)
        assert masks.tolist() == [[-1], [0]]
        masks = xgr.allocate_token_bitmask(3, 4)
        xgr.BatchGrammarMatcher().batch_fill_next_token_bitmask([matcher, other, matcher.fork()], masks)
        assert masks.tolist() == [[0], [1], [0]]


def test_debug_print_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a" "b"'))
    matcher.accept_token(0, debug_print=True)
    matcher.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 4), debug_print=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "token 0" in printed.err
    assert matcher._debug_print_internal_state() in printed.err


def test_temperatures_are_a_tensor_of_float32_of_the_right_size() -> None:
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a"'), default_temperature=0.5)
    child, nothing, tokens = torch.tensor([1, -1]), torch.full((2,), -1), torch.tensor([0, 0])
    mask = xgr.allocate_token_bitmask(2, 4)
    for temperatures, reason in (
        (torch.zeros(2, dtype=torch.float64), "temperatures tensor must be a 1D float32"),
        (torch.zeros(2, 1), "temperatures tensor must be a 1D float32"),
        ([0.0, 0.0], "temperatures tensor must be a 1D float32"),
        (torch.zeros(3), "temperatures size"),
    ):
        with pytest.raises(RuntimeError, match=reason):
            matcher.traverse_draft_tree(child, nothing, tokens, mask, temperatures=temperatures)  # type: ignore[arg-type]
    fill = xgr.BatchGrammarMatcher.batch_fill_temperature
    for temperatures, indices, reason in (
        (torch.zeros(2, dtype=torch.float64), [0], "temperatures tensor"),
        (torch.zeros(2), [0, 1], "indices size"),
        (torch.zeros(2), [2], "out of bounds"),
    ):
        with pytest.raises(RuntimeError, match=reason):
            fill([matcher], temperatures, indices=indices)
    # A text that is complete and has not ended has a temperature, a refused one and what follows the end have none.
    temperatures = torch.zeros(2)
    bare = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b"], stop_token_ids=[])).compile_grammar('root ::= "a"')
    matcher = xgr.GrammarMatcher(bare, default_temperature=0.5)
    assert matcher.traverse_draft_tree(child, nothing, tokens, mask, temperatures=temperatures)
    assert temperatures.tolist() == [0.5, 0.5]
    assert matcher.traverse_draft_tree(child, nothing, torch.tensor([0, 1]), mask, temperatures=temperatures)
    assert temperatures.tolist() == [0.5, -1.0]


def test_a_tree_that_takes_too_long_leaves_the_temperatures() -> None:
    compiled = xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a" "b"')
    matcher = xgr.GrammarMatcher(compiled, default_temperature=0.5)
    nothing, tokens = torch.tensor([-1]), torch.tensor([0])
    mask, temperatures = xgr.allocate_token_bitmask(1, 4), torch.full((1,), -7.0)
    assert not matcher.traverse_draft_tree(nothing, nothing, tokens, mask, 0.0, temperatures)
    assert temperatures.tolist() == [-7.0]
    assert mask.tolist() == [[-1]]
    assert matcher.traverse_draft_tree(nothing, nothing, tokens, mask, 60.0, temperatures)
    assert temperatures.tolist() == [0.5]


def test_masks_go_where_the_tensor_is_now() -> None:
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar('root ::= "b"'))
    mask = xgr.allocate_token_bitmask(2, 4)
    matcher.fill_next_token_bitmask(mask, 1)
    assert mask.tolist() == [[-1], [2]]
    mask.set_(torch.zeros(300, 1, dtype=torch.int32))
    matcher.fill_next_token_bitmask(mask, 299)
    assert mask.flatten().nonzero().tolist() == [[299]]
    mask.resize_(1, 1)
    with pytest.raises(RuntimeError, match="row 1"):
        matcher.fill_next_token_bitmask(mask, 1)
    other = mask.clone()
    matcher.fill_next_token_bitmask(other)
    xgr.BatchGrammarMatcher(1).batch_fill_next_token_bitmask([matcher], mask.zero_())
    assert (other.item(), mask.item()) == (2, 2)


# -- bitmasks -----------------------------------------------------------------------------------------------------


def test_logits_past_the_bitmask_stay_with_a_warning() -> None:
    logits, mask = torch.zeros(1, 40), torch.zeros(1, 1, dtype=torch.int32)
    with pytest.warns(UserWarning, match="32 tokens"):
        xgr.apply_token_bitmask_inplace(logits, mask)
    assert torch.isfinite(logits[0]).tolist() == [False] * 32 + [True] * 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgr.apply_token_bitmask_inplace(logits, mask, vocab_size=32)


@pytest.mark.parametrize("backend", ["auto", "cpu", "torch_native"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_backends_agree(backend: Any, dtype: Any) -> None:
    torch.manual_seed(0)
    allowed = torch.rand(3, 70) < 0.5
    mask = xgr.testing.bool_mask_to_bitmask(allowed)
    assert xgr.testing.bitmask_to_bool_mask(mask, 70).equal(allowed)
    logits = torch.zeros(3, 70, dtype=dtype)
    xgr.apply_token_bitmask_inplace(logits, mask, indices=[0, 2], backend=backend)
    allowed[1] = True
    assert torch.isfinite(logits).equal(allowed)


@pytest.mark.long
def test_the_compiled_backend_agrees() -> None:
    mask, logits = torch.tensor([[0b101], [0b010]], dtype=torch.int32), torch.zeros(2, 3)
    xgr.apply_token_bitmask_inplace(logits, mask, backend="torch_compile")
    assert torch.isfinite(logits).tolist() == [[True, False, True], [False, True, False]]


@pytest.mark.parametrize("backend", ["auto", "cuda", "triton"])
def test_rows_are_chosen_on_the_device_without_reading_them(backend: Any) -> None:
    logits, mask = torch.zeros(4, 70, device="meta"), torch.zeros(4, 3, dtype=torch.int32, device="meta")
    rows = torch.zeros(2, dtype=torch.int32, device="meta")  # a tensor without values: whoever reads one fails
    with pytest.raises((RuntimeError, NotImplementedError)):
        rows.tolist()
    xgr.apply_token_bitmask_inplace(logits, mask, indices=rows, backend=backend)
    with pytest.raises(ValueError, match="axes"):
        xgr.apply_token_bitmask_inplace(logits, mask, indices=rows[None], backend=backend)


def test_what_is_done_on_the_device_is_what_is_done_here() -> None:
    torch.manual_seed(1)
    mask = xgr.testing.bool_mask_to_bitmask(torch.rand(4, 70) < 0.5)
    expected, found = torch.zeros(4, 70), torch.zeros(4, 70)
    xgr.apply_token_bitmask_inplace(expected, mask, indices=[3, 1], vocab_size=65)
    _apply_on_device(found, mask, 65, torch.tensor([3, 1], dtype=torch.int32))
    assert found.equal(expected)


def test_indices_may_be_a_tensor() -> None:
    logits, mask = torch.zeros(3, 4), torch.tensor([[1], [2], [4]], dtype=torch.int32)
    xgr.apply_token_bitmask_inplace(logits, mask, indices=torch.tensor([2, 0], dtype=torch.int32))
    assert torch.isfinite(logits).int().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]]
    for backend in ("cuda", "triton"):
        with pytest.raises(ValueError, match="on a device"):
            xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)


def test_tensors_on_different_devices_are_refused() -> None:
    logits, mask = torch.zeros(1, 4, device="meta"), xgr.allocate_token_bitmask(1, 4)
    with pytest.raises(ValueError, match="meta"):
        xgr.apply_token_bitmask_inplace(logits, mask)
    with pytest.raises(ValueError, match="CPU memory"):
        xgr.apply_token_bitmask_inplace(logits, mask.to("meta"), backend="cpu")


# -- tools --------------------------------------------------------------------------------------------------------


def test_a_tool_without_a_type_is_a_function() -> None:
    bare = [{"function": {"name": "f", "parameters": {}}}]
    typed = [{"type": "function", **bare[0]}]
    for choice in ("auto", "required", {"function": {"name": "f"}}):
        explicit = {"type": "function", **choice} if isinstance(choice, dict) else choice
        found, expected = (xgr.get_model_structural_tag("qwen_3", tools, choice) for tools in (bare, typed))
        assert found == expected == xgr.get_model_structural_tag("qwen_3", typed, explicit)
    chosen = {"allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}}
    assert xgr.normalize_tool_choice(bare, chosen)[2] == "required"
    with pytest.raises(ValueError, match=r"tools\[0\]"):
        xgr.get_model_structural_tag("qwen_3", [{"name": "f"}])
    strict = [{"function": {"name": "f", "parameters": {}, "strict": True}}]  # as all schemas in tags are
    assert xgr.get_model_structural_tag("qwen_3", strict) == xgr.get_model_structural_tag("qwen_3", bare)


@pytest.mark.parametrize("token", [-1, 100])
def test_what_is_no_token_of_a_tree_has_no_temperature(token: int) -> None:
    matcher = xgr.GrammarMatcher(
        xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a" "b"*'), default_temperature=0.5
    )
    assert matcher.accept_token(0)
    child, nothing = torch.tensor([1, 2, -1]), torch.full((3,), -1)
    mask, temperatures = xgr.allocate_token_bitmask(3, 4), torch.zeros(3)
    tokens = torch.tensor([0, token, 1])
    assert matcher.traverse_draft_tree(child, nothing, tokens, mask, temperatures=temperatures)
    assert temperatures.tolist() == [0.5, -1.0, -1.0]
