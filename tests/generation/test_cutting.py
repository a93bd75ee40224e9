"""Where tokens are cut: healed prompts and canonical texts, one at a time, in the engine, and against plain oracles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import workbench as wb  # noqa: E402
from kernels_core import GrammarMatcher, TokenizerInfo, TooFewTokensError  # noqa: E402
from kernels_core.errors import DeadEndError, TokenizerError  # noqa: E402
from workbench.generation import (  # noqa: E402
    BeginningError,
    Engine,
    Generation,
    LanguageModel,
    Sampling,
    generate,
)
from workbench.generation.cutting import Cutting, heal  # noqa: E402
from workbench.generation.loop import matcher_for  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["value", "café", "list"]}, "list": {"type": "array", "items": {"type": "number"}}},
    "required": ["name"],
}
GRAMMARS: dict[str, Any] = {
    "schema": SCHEMA,
    "text": {"type": "string", "maxLength": 12},
    "words": 'root ::= "the quick brown" | "the quic" | "then" | "é" [é-ü]*',
    "words behind a beginning": 'root ::= "e" ("r" | " lazy dog" | " quick" [a-z ]{0,20} ".")',
    "free": None,
}
CUTS: list[dict[str, Any]] = [{"healing": True}, {"canonical": True}, {"healing": True, "canonical": True}]
PROMPTS = ["the quick", "say: th", '{"name": "val', "caf", "naïve lis"]
BARE = TokenizerInfo(
    [b"a", b"b", b"c", b"ab", b"abc", b"bc", b"cd", b"d", b"abcd", b"</s>", b"bcdd"], stop_token_ids=[9]
)


class Asked(NamedTuple):
    """A text that was asked of the loop, and what it wrote."""

    prompt: list[int]
    grammar: Any
    settings: dict[str, Any]
    made: Generation


def texts_of(limit: int, grammar: Any, info: TokenizerInfo) -> Iterator[bytes]:
    """All texts over the letters of `BARE` of at most `limit` bytes."""
    found = [b""]
    for _ in range(limit):
        yield from found
        found = [text + bytes((letter,)) for text in found for letter in b"abcd"]
    yield from found


def matcher_of(model: LanguageModel, grammar: Any) -> GrammarMatcher | None:
    return None if grammar is None else matcher_for(model, grammar)


# -- healing -----------------------------------------------------------------------------------------------------------


def test_only_what_another_token_could_go_on_from_is_taken_back() -> None:
    assert heal(BARE, [7, 0]) == ([7], b"a")  # ab, abc, abcd
    assert heal(BARE, [7, 0, 1]) == ([7], b"ab")
    assert heal(BARE, [7, 0, 5]) == ([7], b"abc")
    assert heal(BARE, [0, 5]) == ([0], b"bc")  # the first token stays
    assert heal(BARE, [7, 8]) == ([7, 8], b"")  # nothing begins with abcd
    assert heal(BARE, [7, 9]) == ([7, 9], b"")  # nor goes on from a control token
    assert heal(BARE, [0, 9, 0]) == ([0, 9], b"a")
    assert heal(BARE, [7]) == ([7], b"")


@pytest.mark.parametrize("healed", [b"a", b"ab", b"abc", b"dab", b"ca"])
@pytest.mark.parametrize("grammar", ['root ::= "bcd" | "c" [ab]{0,2} | "d"', "root ::= [a-d]{1,3}", 'root ::= "cd"?'])
def test_the_tokens_that_may_come_are_those_that_lead_to_a_text(healed: bytes, grammar: str) -> None:
    """Against all texts of the language, cut in every way."""
    from kernels_core import GrammarCompiler

    compiled = GrammarCompiler(BARE).compile_grammar(grammar)
    language = set()
    for text in texts_of(3, grammar, BARE):
        reader = GrammarMatcher(compiled)
        if reader.accept_string(text) and reader.is_completed():
            language.add(text)
    assert language
    whole = {healed + text for text in language}
    ordinary = {number: token for number, token in enumerate(BARE.decoded_vocab) if number != 9}
    random = Random(0)
    for _ in range(30):
        matcher, cutting, written = GrammarMatcher(compiled), Cutting(BARE, healed=healed), b""
        while True:
            ids = cutting.ids(matcher)
            allowed = set(matcher.allowed_token_ids() if ids is None else ids.tolist()) - {9}
            expected = {
                number for number, token in ordinary.items() if any(text.startswith(written + token) for text in whole)
            }
            assert allowed == expected
            assert all(not cutting.take(token, matcher) for token in ordinary if token not in allowed)
            if not allowed or random.random() < 0.1:
                break
            token = random.choice(sorted(allowed))
            assert cutting.take(token, matcher)
            written += ordinary[token]
            assert len(healed) - len(cutting.rest) == min(len(written), len(healed))


def test_the_mask_of_a_healed_token_takes_the_time_of_its_list(
    tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Cutting._list

    def slow(cutting: Cutting, matcher: GrammarMatcher | None) -> Any:
        time.sleep(0.02)
        return listed(cutting, matcher)

    monkeypatch.setattr(Cutting, "_list", slow)
    made = generate(tiny, "the quic", SCHEMA, healing=True, seed=1, max_tokens=3)
    assert made.healed
    assert made.steps[0].mask_ns >= 20_000_000


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
def test_a_healed_text_begins_with_what_was_taken_back(tiny: LanguageModel, grammar: Any) -> None:
    vocabulary, healed_any, crossed = tiny.tokenizer.info.decoded_vocab, 0, 0
    for seed in range(10):
        prompt = PROMPTS[seed % len(PROMPTS)]
        made = generate(tiny, prompt, grammar, healing=True, seed=seed, max_tokens=25)
        ids = tiny.encode_prompt(prompt)
        assert [*made.prompt_tokens, *ids[len(made.prompt_tokens) :]] == ids
        assert made.healed == b"".join(vocabulary[token] for token in ids[len(made.prompt_tokens) :])
        written = b"".join(step.token for step in made.steps if not step.is_special)
        assert written == made.healed + made.text_bytes or len(written) < len(made.healed)
        healed_any += bool(made.healed)
        ends = [sum(len(step.token) for step in made.steps[: count + 1]) for count in range(len(made.steps))]
        crossed += bool(made.healed) and len(made.healed) not in ends
        for step in made.steps:
            assert step.allowed_count >= 1
            assert 0 < step.feasible_mass <= 1
    assert healed_any
    if grammar is None:
        assert crossed  # some token runs from the prompt's bytes into the text


def test_the_probability_of_a_healed_step_is_the_models_over_what_begins_so(tiny: LanguageModel) -> None:
    made = generate(tiny, "the quick th", None, healing=True, seed=1, max_tokens=1)
    assert made.healed
    run = tiny.start()
    probabilities = run.advance(made.prompt_tokens).double().softmax(0)
    vocabulary, silent = tiny.tokenizer.info.decoded_vocab, set(tiny.tokenizer.info.special_token_ids)
    ids = [
        number
        for number, token in enumerate(vocabulary)
        if number not in silent and token and (token.startswith(made.healed) or made.healed.startswith(token))
    ]
    step = made.steps[0]
    assert step.allowed_count == len(ids)
    assert step.feasible_mass == pytest.approx(float(probabilities[ids].sum()))
    assert step.drawn_logprob == pytest.approx(float((probabilities[step.token_id] / probabilities[ids].sum()).log()))


def test_a_branch_heals_again_and_refusals_have_reasons(tiny: LanguageModel) -> None:
    made = generate(tiny, "the quic", SCHEMA, healing=True, seed=3, max_tokens=30)
    assert made.healed
    assert made.branch(0).tokens == made.branch(2).tokens == made.tokens
    assert made.branch(0).text == made.text
    reasons = {made.refusals[key] for key in made.refusals if key[0] == 0}
    assert any("taken back from the prompt" in reason for reason in reasons)
    with pytest.raises(BeginningError, match="does not begin with"):
        made.branch(0, "zzz")


def test_a_session_says_that_it_cannot_follow(tiny: LanguageModel) -> None:
    from workbench.session import Session
    from workbench.session.run import RunError

    session = Session(SCHEMA, tiny.tokenizer)
    with pytest.raises(RunError, match="follows whole tokens"):
        session.run(tiny, "the quic", healing=True)
    assert not session.is_running
    assert session.run(tiny, "the quic", canonical=True, max_tokens=20, seed=1).followed > 0


# -- canonical ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
@pytest.mark.parametrize("healing", [False, True])
def test_a_canonical_text_has_the_tokens_of_the_tokenizer(tiny: LanguageModel, grammar: Any, healing: bool) -> None:
    stops = set(tiny.tokenizer.info.stop_token_ids)
    others = ended = 0
    for seed in range(6 if grammar is SCHEMA else 12):  # which takes longest, and has much to mend
        options: dict[str, Any] = {"seed": seed, "max_tokens": 40, "healing": healing, "record": seed % 3 == 0}
        options["complete"] = seed % 2 == 0
        made = generate(tiny, PROMPTS[seed % len(PROMPTS)], grammar, canonical=True, **options)
        tokens = [token for token in made.tokens if token not in stops]
        written = made.healed + made.text_bytes
        if any(step.is_special and not step.is_stop for step in made.steps):
            continue
        if made.finish_reason != "length":
            ended += 1
            assert tiny.tokenizer.encode(written) == tokens
        else:  # the whole characters of it, with what follows
            assert b"".join(tiny.tokenizer.token_bytes(token) for token in tokens) == written
        plain = generate(tiny, PROMPTS[seed % len(PROMPTS)], grammar, **options)
        theirs = [token for token in plain.tokens if token not in stops]
        others += tiny.tokenizer.encode(plain.healed + plain.text_bytes) != theirs
    assert others  # there was something to mend
    if grammar is not None:
        assert ended


def test_canonical_texts_can_come(tiny: LanguageModel) -> None:
    """Their own tokens, given one after the other; every other cut of them is refused somewhere."""
    texts = [
        '{"name": "value"}',
        '{"name":"café","list":[1,2.5,-3]}',
        '{ "list" : [ ], "name" : "list" }',
        '{"name": "list"}',
    ]
    schema = wb.Grammar.from_json_schema(SCHEMA)
    for text in texts:
        tokens = tiny.tokenizer.encode(text)
        made = generate(tiny, "a", schema, begin=tokens, canonical=True, max_tokens=len(tokens))
        assert (made.text, made.complete) == (text, True)
        random, refused = Random(text), 0
        for _ in range(20):
            place = random.randrange(len(tokens))
            letters = [tiny.tokenizer.encode(bytes((byte,)))[0] for byte in tiny.tokenizer.token_bytes(tokens[place])]
            if len(letters) > 1:
                other = [*tokens[:place], *letters, *tokens[place + 1 :]]
                with pytest.raises(BeginningError, match="cuts no such text so"):
                    generate(tiny, "a", schema, begin=other, canonical=True, max_tokens=len(other))
                refused += 1
        assert refused


def test_the_draw_is_from_the_canonical_tokens_alone(tiny: LanguageModel) -> None:
    """Two cuts of one text, of which one is the tokenizer's: it is taken whenever the other would have been."""
    text = "the quick"
    (first, *_) = canonical = tiny.tokenizer.encode(text)
    grammar = f'root ::= "{text}"'
    for seed in range(20):
        made = generate(tiny, "a", grammar, canonical=True, seed=seed)
        assert list(made.tokens) == canonical
        assert made.steps[0].drawn_logprob <= 0
        assert made.steps[0].token_id == first
        assert all(one.token_id == first for one in made.steps[0].choices)
    assert {generate(tiny, "a", grammar, seed=seed).tokens for seed in range(20)} != {tuple(canonical)}


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_a_text_is_whole_within_its_budget(tiny: LanguageModel, cuts: Any) -> None:
    """Or refused before its first token, with a number of tokens that is enough."""
    with pytest.raises(TooFewTokensError) as error:
        generate(tiny, "the quic", SCHEMA, complete=True, max_tokens=1, **cuts)
    shortest = error.value.shortest
    assert shortest > 2
    with pytest.raises(TooFewTokensError):
        generate(tiny, "the quic", SCHEMA, complete=True, max_tokens=shortest - 1, **cuts)
    for budget in (shortest, shortest + 1, shortest + 4, shortest + 13, shortest + 32):
        made = generate(tiny, "the quic", SCHEMA, complete=True, max_tokens=budget, seed=budget, **cuts)
        assert made.complete
        assert len(made) <= budget
        if "canonical" in cuts:
            tokens = [token for token in made.tokens if token not in tiny.tokenizer.info.stop_token_ids]
            assert tiny.tokenizer.encode(made.healed + made.text_bytes) == tokens


def test_a_given_token_that_the_tokenizer_would_not_write_is_refused(tiny: LanguageModel) -> None:
    single = [tiny.tokenizer.encode(letter)[0] for letter in "the quick"]
    assert single != tiny.tokenizer.encode("the quick")
    assert generate(tiny, "a", begin=single, max_tokens=len(single)).text == "the quick"
    with pytest.raises(BeginningError, match="the tokenizer cuts no such text so"):
        generate(tiny, "a", begin=single, max_tokens=len(single), canonical=True)


def test_a_text_that_no_tokens_of_the_tokenizer_write_is_an_error() -> None:
    cutting = Cutting(BARE, cut=lambda data: None)
    with pytest.raises(DeadEndError, match="no text was found"):
        cutting.begin(None)


def test_without_a_tokenizer_nothing_is_canonical(tiny: LanguageModel) -> None:
    engine = Engine(tiny.model, tiny.tokenizer.info)
    with pytest.raises(TokenizerError, match="nobody says which cut"):
        engine.admit([5], canonical=True)


# -- the engine --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(tiny: LanguageModel) -> Callable[[int], Asked]:
    """The text of each number that the loop writes: every grammar, cut in every way, as `asked` says."""

    @cache
    def written(seed: int) -> Asked:
        grammar = list(GRAMMARS.values())[seed % len(GRAMMARS)]
        prompt = tiny.encode_prompt(PROMPTS[(seed + seed // 4) % len(PROMPTS)])
        # Some texts beside the others are cut anyhow.
        settings = {"complete": bool(seed % 2) and grammar is not None, **[{}, *CUTS][seed // 2 % 4]}
        made = generate(tiny, prompt, grammar, seed=seed, max_tokens=40, **settings)
        return Asked(prompt, grammar, settings, made)

    return written


@pytest.mark.parametrize(
    "options",
    [{}, {"sparse": False}, {"device_masks": True}, {"jump": "guess"}, {"jump": True}, {"drafts": 4}],
    ids=str,
)
def test_the_engine_writes_what_the_loop_does(
    tiny: LanguageModel, alone: Callable[[int], Asked], options: dict[str, Any]
) -> None:
    engine = Engine.of(tiny, rows=4, max_length=120, **options)
    rows = []
    for seed in range(1000, 1040):  # five grammars, four ways to cut, whole or not
        one = alone(seed)
        matcher = matcher_of(tiny, one.grammar)
        row = engine.admit(one.prompt, matcher, seed=seed, max_tokens=40, sampling=Sampling(), **one.settings)
        rows.append((row, one))
    for _ in engine:
        pass
    for row, one in rows:
        assert row.error is None, row
        if options.get("jump") is not True:
            assert (tuple(row.tokens), bytes(row.text)) == (one.made.tokens, one.made.text_bytes)
        if one.settings.get("canonical") and row.finish_reason != "length":
            stops = tiny.tokenizer.info.stop_token_ids
            written = one.made.healed + bytes(row.text)
            assert tiny.tokenizer.encode(written) == [token for token in row.tokens if token not in stops]


def test_an_error_of_one_text_ends_that_text(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine.of(tiny, rows=2, max_length=120)
    prompt = tiny.encode_prompt("the quick")
    one = engine.admit(prompt, seed=0, max_tokens=5, canonical=True)
    other = engine.admit(prompt, seed=0, max_tokens=5)

    def fail(*_: Any) -> bool:
        raise DeadEndError("no room")

    assert one.cutting is not None
    monkeypatch.setattr(one.cutting, "allows", fail)
    for _ in engine:
        pass
    assert (one.finish_reason, str(one.error)) == ("error", "no room")
    assert (other.error, len(other.tokens)) == (None, 5)


def test_log_probabilities_are_those_under_what_may_come(tiny: LanguageModel) -> None:
    engine = Engine.of(tiny, rows=1, max_length=120)
    row = engine.admit(tiny.encode_prompt("the quic"), seed=0, max_tokens=6, logprobs=2, healing=True)
    for _ in engine:
        pass
    alone = generate(tiny, "the quic", healing=True, seed=0, max_tokens=6)
    for told, step in zip(row.logprobs, alone.steps, strict=True):
        assert told.logprob == pytest.approx(step.drawn_logprob, abs=1e-4)
        assert len(told.top) == min(2, step.allowed_count)


def test_the_choices_of_a_canonical_text_are_cut_as_the_tokenizer_cuts(
    tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cutting, "allows", lambda _cutting, token, _matcher: token % 4 == 0)
    made = generate(tiny, "a", None, canonical=True, seed=1, max_tokens=4, record=True, alternatives=6)
    assert len(made.steps) == 4
    for step in made.steps:
        assert len(step.choices) == 6
        assert all(one.token_id % 4 == 0 and one.allowed for one in step.choices)
