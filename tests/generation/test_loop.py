"""The decoding loop: what it writes is in the language, and what it records is true."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pydantic = pytest.importorskip("pydantic")

from kernels_core import (  # noqa: E402
    BatchGrammarMatcher,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    GrammarWarning,
    TokenizerInfo,
)
from kernels_core.errors import DeadEndError, GrammarSyntaxError, TokenizerError  # noqa: E402
from workbench import Session, Source, compare, probability, replay  # noqa: E402
from workbench.generation import (  # noqa: E402
    GrammarLogitsProcessor,
    IncompleteTextWarning,
    LanguageModel,
    ModelError,
    Step,
    TokenStream,
    astream,
    generate,
    generate_side_by_side,
    load_model,
    stream,
)
from workbench.generation.model import ModelRun  # noqa: E402
from workbench.generation.record import _allowed_by  # noqa: E402

PAIRS = r"""
root  ::= "{" pair ("," pair){0,2} "}"
pair  ::= "\"" [a-zé]{1,3} "\":" value
value ::= [0-9]{1,3} | "true" | "null" | "[" (value ("," value){0,2})? "]" | root
"""
BOUNDED = r"""root ::= "<" [^>]{1,6} ">" [0-9]{2,4}"""


class Answer(pydantic.BaseModel):
    """What a model may be asked for."""

    ok: bool


SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]


def scores(model: LanguageModel) -> torch.Tensor:
    return torch.zeros(1, model.vocab_size)


@pytest.mark.parametrize(
    "kind", ["text", "dict", "path", "model", "tools", "source", "session", "Grammar", "CompiledGrammar"]
)
def test_every_verb_takes_whatever_describes_an_output(tiny: LanguageModel, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    what = {
        "text": json.dumps(SCHEMA),
        "dict": SCHEMA,
        "path": file,
        "model": Answer,
        "tools": TOOLS,
        "source": Source.of(SCHEMA),
        "session": Session(SCHEMA, tiny.tokenizer),
        "Grammar": Grammar.from_json_schema(SCHEMA),
        "CompiledGrammar": tiny.compiler.compile_json_schema(SCHEMA),
    }[kind]
    answer = '{"ok": true}'
    made = generate(tiny, "fox", what, seed=1, max_tokens=120)
    assert made.constrained
    if made.complete and kind != "tools":
        assert json.loads(made.text).keys() >= {"ok"}
    assert stream(tiny, "fox", what, seed=1, max_tokens=120).run().text == made.text
    if kind != "dict":  # which is grammars by name there
        beside = generate_side_by_side(tiny, "fox", what, seed=1, max_tokens=120)
        assert beside["under the grammar"].text == made.text
    masked = GrammarLogitsProcessor(what, tokenizer=tiny.tokenizer)(torch.zeros(1, 1, dtype=torch.long), scores(tiny))
    assert (masked == -torch.inf).any()
    if kind in ("text", "path", "model", "source", "session"):
        assert made.text == generate(tiny, "fox", SCHEMA, seed=1, max_tokens=120).text
        expected = GrammarLogitsProcessor(SCHEMA, tokenizer=tiny.tokenizer)
        assert torch.equal(masked, expected(torch.zeros(1, 1, dtype=torch.long), scores(tiny)))
    assert Session(what, tiny.tokenizer).read(answer).ok
    assert compare(what, what, tokenizer=tiny.tokenizer).agree
    assert replay(answer.encode(), what, tiny.tokenizer).died is None
    assert probability(tiny, "fox", what, max_tokens=3, max_forwards=2) is not None


@pytest.mark.parametrize("grammar", [PAIRS, BOUNDED])
@pytest.mark.parametrize("seed", range(3))
def test_constrained_text_is_in_the_language(tiny: LanguageModel, grammar: str, seed: int) -> None:
    result = generate(tiny, "the fox", grammar, seed=seed, max_tokens=120, temperature=1.3)
    reader = GrammarMatcher(tiny.compiler.compile_grammar(grammar))
    assert reader.accept_string(result.text_bytes)
    assert result.constrained
    assert result.complete == reader.is_completed()
    if result.finish_reason in ("stop", "grammar_complete"):
        assert result.complete
    else:
        assert result.finish_reason == "length"
        assert len(result) == 120


def test_the_record_agrees_with_mask_and_model(tiny: LanguageModel) -> None:
    prompt = tiny.encode_prompt("quick")
    result = generate(tiny, prompt, PAIRS, seed=4, max_tokens=40, alternatives=7)
    matcher = GrammarMatcher(tiny.compiler.compile_grammar(PAIRS))
    read, offset = list(prompt), 0
    for number, step in enumerate(result.steps):
        with torch.no_grad():
            logits = tiny.model(torch.tensor([read])).logits[0, -1].double()
        logprobs = logits.log_softmax(-1)
        allowed = matcher.allowed_token_ids()
        mass = logprobs[allowed].exp().sum().item()
        assert (step.index, step.offset, step.allowed_count) == (number, offset, len(allowed))
        assert step.token_id in allowed
        assert step.forced == (len(allowed) == 1)
        assert step.feasible_mass == pytest.approx(mass, rel=1e-3)
        assert step.logprob == pytest.approx(logprobs[step.token_id].item(), abs=1e-3)
        # Drawn at temperature 1 among the allowed tokens: the model's probability over the feasible mass.
        assert step.drawn_logprob == pytest.approx(step.logprob - math.log(step.feasible_mass), abs=1e-6)
        assert len(step.alternatives) == 7
        assert [a.logprob for a in step.alternatives] == sorted((a.logprob for a in step.alternatives), reverse=True)
        for alternative in step.alternatives:
            assert alternative.allowed == (alternative.token_id in allowed)
            assert alternative.logprob == pytest.approx(logprobs[alternative.token_id].item(), abs=1e-3)
        assert step.rejected_favourite == (not step.alternatives[0].allowed)
        assert step.mask_ns > 0
        assert step.model_ns > 0
        assert step.sample_ns > 0
        assert matcher.accept_token(step.token_id)
        read.append(step.token_id)
        offset += 0 if step.is_special else len(step.token)
    assert result.text_bytes == matcher.text
    assert result.tokens == tuple(read[len(prompt) :])
    assert result.log_feasible_mass == pytest.approx(sum(math.log(s.feasible_mass) for s in result.steps))


def test_without_a_grammar_everything_is_allowed(tiny: LanguageModel) -> None:
    result = generate(tiny, "fox", max_tokens=30, seed=2)
    assert not result.constrained
    assert result.complete is None
    assert all(step.allowed_count == tiny.vocab_size and step.feasible_mass == 1 for step in result.steps)
    assert all(a.allowed for step in result.steps for a in step.alternatives)
    assert result.log_feasible_mass == 0


def test_greedy_equals_transformers(tiny: LanguageModel) -> None:
    prompt = tiny.encode_prompt("the lazy")
    theirs = tiny.model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), max_new_tokens=25, do_sample=False
    )
    ours = generate(tiny, prompt, temperature=0, max_tokens=25)
    assert list(ours.tokens) == theirs[0, len(prompt) :].tolist()


def test_a_seed_repeats_a_run(tiny: LanguageModel) -> None:
    first = generate(tiny, "fox", PAIRS, max_tokens=30)
    again = generate(tiny, "fox", PAIRS, max_tokens=30, seed=first.settings["seed"])
    others = [generate(tiny, "fox", PAIRS, max_tokens=30, seed=seed).tokens for seed in range(5)]
    assert again.tokens == first.tokens
    assert len(set(others)) > 1


def test_the_model_may_stop_where_the_grammar_lets_it(tiny: LanguageModel) -> None:
    endings = {generate(tiny, "fox", 'root ::= "a"*', seed=seed, temperature=3).finish_reason for seed in range(8)}
    stopped = next(
        result
        for seed in range(50)
        if (result := generate(tiny, "fox", 'root ::= "a"*', seed=seed, temperature=3)).finish_reason == "stop"
    )
    assert endings <= {"stop", "length"}
    assert stopped.steps[-1].is_stop
    assert stopped.steps[-1].token == b"<end>"
    assert set(stopped.text) <= {"a"}
    assert stopped.complete


def test_stop_strings_end_the_text_and_are_left_out(tiny: LanguageModel) -> None:
    whole = generate(tiny, "fox", "root ::= [a-z]{60}", seed=3)
    assert len(whole.text) == 60
    marker = whole.text[20:23]
    cut = generate(tiny, "fox", "root ::= [a-z]{60}", seed=3, stop=["#", marker])
    assert cut.text == whole.text[: whole.text.index(marker)]
    assert cut.finish_reason == "stop"
    assert cut.complete is False


def test_only_a_cut_text_warns(tiny: LanguageModel) -> None:
    with pytest.warns(IncompleteTextWarning, match="the context of .* ran out"):
        generate(tiny, [5] * 250, "root ::= [a-z]{60}", max_tokens=1000, alternatives=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IncompleteTextWarning)
        generate(tiny, "fox", "root ::= [a-z]{60}", max_tokens=60, complete=True)
        generate(tiny, "fox", "root ::= [a-z]*", max_tokens=3, seed=1)  # may go on, but is whole
        generate(tiny, "fox", max_tokens=3)
        assert len(list(stream(tiny, "fox", "root ::= [a-z]{60}", max_tokens=3))) == 3


def test_length_budgets(tiny: LanguageModel) -> None:
    with pytest.warns(IncompleteTextWarning, match=r"max_tokens=3 ran out .* complete=True") as warned:
        short = generate(tiny, "fox", "root ::= [a-z]{60}", max_tokens=3)
    assert [Path(warning.filename) for warning in warned] == [Path(__file__)]
    assert (len(short), short.finish_reason, short.complete) == (3, "length", False)
    prompt = tiny.encode_prompt("fox") * 60
    assert tiny.context == 256
    long = generate(tiny, prompt, "root ::= [a-z]+", max_tokens=1000, alternatives=0)
    if long.finish_reason == "length":
        assert len(prompt) + len(long) == 256  # as in the server: a context holds the prompt and its answer


def test_a_matcher_is_continued_and_left_alone(tiny: LanguageModel) -> None:
    matcher = GrammarMatcher(tiny.compiler.compile_grammar(BOUNDED))
    assert matcher.accept_string("<abc>1")
    result = generate(tiny, "fox", matcher, seed=0)
    assert result.text.isdigit()
    assert 1 <= len(result.text) <= 3
    assert result.complete
    assert matcher.text == b"<abc>1"


def test_only_tokens_that_are_likely_enough_are_drawn(tiny: LanguageModel) -> None:
    drawn = [generate(tiny, "fox", PAIRS, seed=seed, min_p=1.0, max_tokens=20) for seed in range(3)]
    assert {made.tokens for made in drawn} == {generate(tiny, "fox", PAIRS, temperature=0, max_tokens=20).tokens}
    assert drawn[0].settings["min_p"] == 1.0
    with pytest.raises(ValueError, match="min_p"):
        generate(tiny, "fox", min_p=2.0)


def test_a_model_is_drawn_from_as_its_makers_say_where_nothing_else_is_said(tiny_folder: Path) -> None:
    model = load_model(tiny_folder, device="cpu")
    model.model.generation_config.update(do_sample=True, temperature=0.25, top_p=0.9, top_k=0)
    own = generate(model, "fox", PAIRS, seed=3, max_tokens=20)
    assert [own.settings[name] for name in ("temperature", "top_p", "top_k")] == [0.25, 0.9, None]
    assert own.tokens == generate(model, "fox", PAIRS, seed=3, max_tokens=20, temperature=0.25, top_p=0.9).tokens
    said = generate(model, "fox", PAIRS, seed=3, max_tokens=20, temperature=1.0, top_p=1.0)
    assert (said.settings["temperature"], said.settings["top_p"]) == (1.0, 1.0)
    assert said.branch(0).tokens == said.tokens


@pytest.mark.parametrize("grammar", ['root ::= "lazy" | "dog"', "root ::= [a-z]{3,4}", SCHEMA])
def test_the_model_is_asked_for_no_token_behind_the_last(
    tiny: LanguageModel, grammar: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance, passes = ModelRun.advance, list[int]()

    def counted(self: ModelRun, ids: Sequence[int]) -> torch.Tensor:
        passes.append(len(ids))
        return advance(self, ids)

    monkeypatch.setattr(ModelRun, "advance", counted)
    made = generate(tiny, "fox", grammar, seed=2, max_tokens=60, complete=True)
    assert passes == [len(made.prompt_tokens)] + [1] * (len(made) - 1)


def test_what_describes_no_output_is_told(tiny: LanguageModel) -> None:
    with pytest.raises(GrammarSyntaxError):
        generate(tiny, "fox", "root ::= (")
    with pytest.raises(TypeError, match="int is no source of a grammar"):
        generate(tiny, "fox", 42)
    other = GrammarCompiler(TokenizerInfo([b"a", b"b"], stop_token_ids=[1])).compile_grammar('root ::= "a"')
    with pytest.raises(TokenizerError, match="another vocabulary"):
        generate(tiny, "fox", other)


def test_a_dead_end_is_named(tiny: LanguageModel) -> None:
    # The same vocabulary without the letter z: the grammar wants one, and no token has it.
    info = tiny.tokenizer.info
    blocked = [i for i, text in enumerate(info.decoded_vocab) if b"z" in text]
    poor = TokenizerInfo(
        info.decoded_vocab, stop_token_ids=info.stop_token_ids, special_token_ids=[*info.special_token_ids, *blocked]
    )
    compiled = GrammarCompiler(poor).compile_grammar('root ::= "abz"')
    tokens = stream(tiny, "fox", compiled)
    with pytest.raises(DeadEndError, match="after 2 bytes"):
        list(tokens)
    assert tokens.generation.text == "ab"
    assert tokens.generation.complete is False


def test_a_model_that_rules_out_all_allowed_tokens_is_a_dead_end(
    tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = torch.full((tiny.vocab_size,), -torch.inf)
    logits[tiny.tokenizer.encode("q")[0]] = 0
    monkeypatch.setattr("workbench.generation.model.ModelRun.advance", lambda self, ids: logits)
    with pytest.raises(DeadEndError, match="probability 0"):
        generate(tiny, "fox", 'root ::= "a"')
    monkeypatch.setattr("workbench.generation.model.ModelRun.advance", lambda self, ids: logits * torch.nan)
    with pytest.raises(ModelError, match="not numbers"):
        generate(tiny, "fox")


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"alternatives": -1}, {"stop": ""}, {"temperature": -1}])
def test_bad_settings(tiny: LanguageModel, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must"):
        generate(tiny, "fox", **options)  # type: ignore[arg-type]


def test_stream_yields_the_steps_of_generate(tiny: LanguageModel) -> None:
    seen: list[Step] = []
    whole = generate(tiny, "fox", PAIRS, seed=5, max_tokens=25, on_step=seen.append)
    tokens = stream(tiny, "fox", PAIRS, seed=5, max_tokens=25)
    steps = []
    for step in tokens:
        steps.append(step.token_id)
        assert tokens.generation.tokens == tuple(steps)
    assert tuple(steps) == whole.tokens
    assert tokens.generation.text == whole.text
    assert tokens.finish_reason == whole.finish_reason
    assert list(seen) == list(whole.steps)
    assert list(tokens) == []


def test_interrupting_leaves_a_usable_result(tiny: LanguageModel) -> None:
    tokens = stream(tiny, "fox", "root ::= [a-z]{60}", seed=1)
    for step in tokens:
        if step.index == 4:
            tokens.interrupt()
    result = tokens.generation
    assert (len(result), result.finish_reason, result.complete) == (5, "interrupted", False)
    assert "interrupted" in repr(tokens)


def test_the_stop_button_returns_what_there_is(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(step: Step) -> None:
        if step.index == 2:
            raise KeyboardInterrupt

    assert len(generate(tiny, "fox", "root ::= [a-z]{60}", on_step=press)) == 3

    advance, passes = ModelRun.advance, 0

    def press_inside(self: ModelRun, ids: Sequence[int]) -> torch.Tensor:
        nonlocal passes
        passes += 1
        if passes == 5:
            raise KeyboardInterrupt
        return advance(self, ids)

    monkeypatch.setattr(ModelRun, "advance", press_inside)
    result = generate(tiny, "fox", "root ::= [a-z]{60}")
    assert (len(result), result.finish_reason) == (4, "interrupted")
    assert len(result.to_frame()) == 4


def test_errors_in_a_callback_come_through(tiny: LanguageModel) -> None:
    def fail(step: Step) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        generate(tiny, "fox", BOUNDED, on_step=fail)


def test_async_lets_other_tasks_run(tiny: LanguageModel) -> None:
    async def main() -> tuple[int, list[int], TokenStream]:
        ticks = 0

        async def ticking() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(ticking())
        tokens = astream(tiny, "fox", PAIRS, seed=5, max_tokens=25)
        ids = [step.token_id async for step in tokens]
        other.cancel()
        return ticks, ids, tokens

    ticks, ids, tokens = asyncio.run(main())
    assert ticks >= len(ids)
    assert tuple(ids) == generate(tiny, "fox", PAIRS, seed=5, max_tokens=25).tokens == tokens.generation.tokens


def test_a_cancelled_task_leaves_a_usable_result(tiny: LanguageModel) -> None:
    async def main() -> TokenStream:
        tokens = astream(tiny, "fox", "root ::= [a-z]{60}", seed=5)

        async def consume() -> None:
            async for _ in tokens:
                pass

        task = asyncio.create_task(consume())
        for _ in range(4):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return tokens

    tokens = asyncio.run(main())
    assert tokens.finish_reason == "interrupted"
    assert 0 < len(tokens.generation) < 60
    assert list(tokens) == []


def test_a_schema_is_written_in_declared_order(tiny: LanguageModel) -> None:
    constants = {"b": {"const": "x"}, "a": {"const": "y"}, "c": {"const": "z"}}
    schema = {"type": "object", "properties": constants, "required": ["a", "b", "c"], "additionalProperties": False}
    for seed in range(5):
        text = "".join(generate(tiny, "fox", schema, seed=seed, max_tokens=200).text.split())
        assert '{"b":"x","a":"y","c":"z"}'.startswith(text), text


def test_a_generation_is_plain_data(tiny: LanguageModel) -> None:
    result = generate(tiny, "fox", PAIRS, seed=5, max_tokens=25)
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    frame = copy.to_frame()
    assert len(frame) == len(result)
    assert frame["token"].tolist() == [step.token for step in result.steps]
    assert {"probability", "feasible_mass", "allowed_count", "mask_us", "model_us"} <= set(frame.columns)
    assert result.text[:10] in repr(result)
    with pytest.raises(AttributeError):
        result.steps[0].token_id = 3  # type: ignore[misc]


def test_the_mask_of_a_step_is_read_bit_by_bit(tiny: LanguageModel) -> None:
    matcher = GrammarMatcher(tiny.compiler.compile_grammar("root ::= [^\\n]*"))
    allowed = _allowed_by(BatchGrammarMatcher().read_masks([matcher]), 0, tiny.vocab_size)
    assert np.flatnonzero(allowed).tolist() == matcher.allowed_token_ids()


def test_a_misspelt_keyword_is_told_to_the_caller(tiny: LanguageModel) -> None:
    schema = {"type": "object", "properties": {"zip": {"type": "string", "maxlength": 5}}}
    with pytest.warns(GrammarWarning, match="did you mean `maxLength`") as told:
        generate(tiny, "a", schema, max_tokens=2, seed=1)
    assert [one.filename for one in told if one.category is GrammarWarning] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", GrammarWarning)
        generate(tiny, "a", {"type": "object", "properties": {"zip": {"maxLength": 5}}}, max_tokens=2, seed=1)


def test_a_model_is_taken_by_its_name_and_a_prompt_in_its_place_is_told() -> None:
    import workbench as wb

    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}
    assert wb.generate("Demo", "yes", schema, complete=True, seed=1).complete
    with pytest.raises(TypeError, match=r"'dict' is no prompt: the call is wb.generate\(model, prompt, grammar\)"):
        wb.generate("Write a person", schema)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"no model 'Write a person'.*the call is wb.generate"):
        wb.generate("Write a person", "as JSON", schema)
    with pytest.raises(TypeError, match="'dict' is no model"):
        wb.generate(schema, "yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "one"),
    [
        ({"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}, True),
        ({"properties": {"a": {"type": "boolean"}}}, True),
        ({"enum": [1, 2]}, True),
        ({"free": None, "type": {"type": "boolean"}}, False),
        ({"one": {"type": "boolean"}, "other": {"type": "integer"}}, False),
        ({"one": 'root ::= "a"', "type": {"type": "boolean"}}, False),
    ],
)
def test_a_schema_is_told_from_grammars_by_name(schema: dict[str, Any], one: bool) -> None:
    import workbench as wb

    made = wb.generate_side_by_side("demo", "yes", schema, max_tokens=2, seed=1, record=False, complete=False)
    assert list(made.runs) == (["under the grammar", "free"] if one else list(schema))
