"""`complete`: no text is cut by `max_tokens`, whichever door writes it, and far from the end the draws are the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from kernels_core import CompiledGrammar, GrammarMatcher, TooFewTokensError  # noqa: E402
from workbench.generation import (  # noqa: E402
    BeginningError,
    Engine,
    Generation,
    GrammarLogitsProcessor,
    LanguageModel,
    generate,
)
from workbench.generation.loop import matcher_for  # noqa: E402
from workbench.generation.sampling import Sampling, once_more  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "list": {"type": "array", "items": {"type": "number"}},
        "more": {"type": "object"},
    },
    "required": ["name", "list"],
}
UNIQUE = {"type": "array", "uniqueItems": True, "items": {"type": "string"}, "minItems": 2}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f>"],
        "tags": [{"begin": "<f>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</f>"}],
        "at_least_one": True,
    },
}
GRAMMARS: dict[str, Any] = {
    "schema": SCHEMA,
    "items that differ": UNIQUE,
    "tag": TAG,
    "brackets": 'root ::= "(" root ")" | "<" [a-z]* ">"',
    "a long way": 'root ::= "a" [b-z]{60} | [c-f]+ "."',
}
PROMPTS = ["the quick", '{"list": [1', "a", "0123"]


def compiled(model: LanguageModel, grammar: Any) -> Any:
    return matcher_for(model, grammar).compiled


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
def test_nothing_is_cut(tiny: LanguageModel, grammar: Any) -> None:
    shortest = GrammarMatcher(compiled(tiny, grammar)).tokens_to_end()
    assert shortest is not None
    if shortest > 1:
        with pytest.raises(TooFewTokensError) as error:
            generate(tiny, "a", grammar, max_tokens=shortest - 1, complete=True)
        assert (error.value.shortest, error.value.max_tokens) == (shortest, shortest - 1)
    random, cut = Random(1), 0
    for seed in range(16):
        budget = shortest + random.choice([0, 1, 2, 5, 12, 40, 90])
        options: dict[str, Any] = {"max_tokens": budget, "seed": seed, "record": seed % 4 == 0}
        options["temperature"] = random.choice([0.0, 0.7, 1.0, 2.0])
        whole = generate(tiny, PROMPTS[seed % 4], grammar, complete=True, **options)
        assert whole.complete, whole
        assert len(whole) <= budget
        assert whole.settings["complete"]
        cut += not generate(tiny, PROMPTS[seed % 4], grammar, **options).complete
    assert cut  # as they are without


@pytest.fixture(scope="module")
def alone(tiny: LanguageModel) -> Callable[[int], tuple[Generation, CompiledGrammar, dict[str, Any]]]:
    """The text of each number that the loop writes, its grammar and its settings."""

    @cache
    def written(seed: int) -> tuple[Generation, CompiledGrammar, dict[str, Any]]:
        grammar = compiled(tiny, list(GRAMMARS.values())[seed % len(GRAMMARS)])
        settings: dict[str, Any] = {"max_tokens": 26 + 2 * seed, "seed": seed, "complete": True}
        temperature = 0.0 if seed % 3 == 0 else 1.2
        prompt = tiny.encode_prompt(PROMPTS[seed % 4])
        made = generate(tiny, prompt, grammar, temperature=temperature, **settings)
        return made, grammar, settings | {"sampling": Sampling(temperature)}

    return written


@pytest.mark.parametrize(
    "options",
    [{}, {"sparse": False}, {"device_masks": True}, {"jump": "guess"}, {"jump": True}, {"drafts": 4}],
    ids=str,
)
def test_an_engine_cuts_nothing_and_writes_what_the_loop_does(
    tiny: LanguageModel,
    alone: Callable[[int], tuple[Generation, CompiledGrammar, dict[str, Any]]],
    options: dict[str, Any],
) -> None:
    engine = Engine.of(tiny, rows=5, max_length=120, **options)
    written = []
    for seed in range(20):
        made, grammar, settings = alone(seed)
        written.append((engine.admit(made.prompt_tokens, GrammarMatcher(grammar), **settings), made))
    for _ in engine:
        pass
    for row, made in written:
        assert row.error is None
        assert row.matcher is not None
        assert row.matcher.is_completed()
        assert len(row.tokens) <= row.max_tokens
        if options.get("jump") is not True:  # which cuts forced text as the tokenizer does
            assert (list(made.tokens), made.finish_reason) == (row.tokens, row.finish_reason)


def test_room_for_a_text_is_a_budget_too(tiny: LanguageModel) -> None:
    engine = Engine.of(tiny, rows=2, max_length=40)
    grammar = compiled(tiny, SCHEMA)
    rows = [
        engine.admit(list(range(10, 10 + length)), GrammarMatcher(grammar), max_tokens=500, seed=length, complete=True)
        for length in range(1, 12)
    ]
    for _ in engine:
        pass
    assert all(row.matcher is not None and row.matcher.is_completed() for row in rows)
    with pytest.raises(TooFewTokensError, match="and 1 may be written"):
        engine.admit(list(range(10, 49)), GrammarMatcher(grammar), complete=True)
    prompt = list(range(10, 10 + 240))  # the model's context has 256
    made = generate(tiny, prompt, 'root ::= "{" [a-z]* "}"', max_tokens=100, seed=3, complete=True)
    assert made.complete


@pytest.mark.parametrize("more", [{}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 3}], ids=str)
def test_a_logits_processor_cuts_nothing(tiny: LanguageModel, more: dict[str, Any]) -> None:
    grammar = compiled(tiny, SCHEMA)
    prompt = torch.tensor([tiny.encode_prompt("the quick")])
    for budget in (22, 25, 31, 50):
        torch.manual_seed(budget)
        processor = GrammarLogitsProcessor(grammar, max_new_tokens=budget)
        found = tiny.model.generate(
            prompt, max_new_tokens=budget, logits_processor=[processor], pad_token_id=0, **{"do_sample": False, **more}
        )
        for row in found[:, prompt.shape[1] :].tolist():
            matcher = GrammarMatcher(grammar)
            for token in row:
                if not matcher.is_terminated():
                    assert matcher.accept_token(token)
            assert matcher.is_completed()
    with pytest.raises(TooFewTokensError):
        tiny.model.generate(
            prompt, max_new_tokens=5, logits_processor=[GrammarLogitsProcessor(grammar, max_new_tokens=5)]
        )


def test_a_token_that_takes_too_long_is_drawn_again(tiny: LanguageModel) -> None:
    """Far from the end all tokens may be drawn; one that cannot end in time is drawn again, by what is left."""
    grammar = 'root ::= "a" [b-z]{60} | [c-f]+ "."'
    free = [generate(tiny, "a", grammar, seed=seed, max_tokens=50, temperature=3.0) for seed in range(20)]
    bound = [
        generate(tiny, "a", grammar, seed=seed, max_tokens=50, temperature=3.0, complete=True) for seed in range(20)
    ]
    again = 0
    for one, other in zip(free, bound, strict=True):
        assert other.complete
        if one.text.startswith("a"):
            assert other.text[0] in "cdef"
            assert other.steps[0].allowed_count < one.steps[0].allowed_count
            again += 1
        else:
            assert one.steps[0].token == other.steps[0].token
    assert 2 < again < 18


def test_a_number_that_was_used_has_another_in_it() -> None:
    random = Random(0)
    below: list[float] = []
    above: list[float] = []
    for _ in range(4000):
        uniform = random.random()
        (below if uniform < 0.3 else above).append(once_more(uniform))
    for numbers in (below, above):
        assert all(0 <= number < 1 for number in numbers)
        assert abs(sum(numbers) / len(numbers) - 0.5) < 0.03


def test_what_begins_or_branches_has_the_same_budget(tiny: LanguageModel) -> None:
    made = generate(tiny, "the quick", SCHEMA, max_tokens=40, seed=5, complete=True)
    other = made.branch(4, seed=9)
    assert other.complete
    assert len(other) <= 40
    assert other.tokens[:4] == made.tokens[:4]
    again = made.branch(4)
    assert again.tokens == made.tokens
    with pytest.raises(BeginningError, match="leaves no time for an end"):
        generate(
            tiny,
            "a",
            'root ::= "a" [b-z]{60} | [c-f]+ "."',
            max_tokens=30,
            begin=tiny.tokenizer.encode("a"),
            complete=True,
        )


def test_free_text_that_runs_out_says_so(tiny: LanguageModel) -> None:
    """A text that might have gone on was cut, though it is whole; one that could not was not."""
    cut = generate(tiny, "a", "root ::= [a-z]*", max_tokens=6, seed=1, complete=True, temperature=0.0)
    assert (cut.complete, cut.finish_reason) in {(True, "length"), (True, "stop")}
    done = generate(tiny, "a", 'root ::= "abc"', max_tokens=3, seed=1, complete=True)
    assert (done.complete, done.finish_reason) == (True, "grammar_complete")
    free = generate(tiny, "a", max_tokens=3, seed=1, complete=True)
    assert (free.complete, len(free)) == (None, 3) or free.finish_reason == "stop"
