"""The demo model: its text generator, its grammar, what ships with the project, and what it is for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from experiments.demo_model import WEIGHTS_FOLDER  # noqa: E402
from experiments.demo_model.dialogues import SPECIAL_TOKENS, dialogues  # noqa: E402
from experiments.demo_model.recipe import Recipe  # noqa: E402
from experiments.demo_model.sloppiness import HABITS  # noqa: E402
from experiments.demo_model.tools import (  # noqa: E402
    CLOSE,
    OPEN,
    TEXT_LIMIT,
    TOOLS,
    Call,
    free_text_grammar,
    grammar_text,
    judge,
    read_calls,
    render,
    tool_list,
)
from experiments.demo_model.train import model_config, train, train_tokenizer  # noqa: E402
from kernels_core import CompiledGrammar, GrammarMatcher  # noqa: E402
from workbench.generation import LanguageModel, generate, load_model  # noqa: E402


@pytest.fixture(scope="module")
def compiled(demo: LanguageModel) -> CompiledGrammar:
    return demo.compiler.compile_grammar(grammar_text())


def in_grammar(compiled: CompiledGrammar, text: str) -> bool:
    matcher = GrammarMatcher(compiled)
    return bool(matcher.accept_string(text) and matcher.is_completed())


def test_dialogues_are_a_function_of_their_seed() -> None:
    first = list(dialogues(50, seed=3, sloppiness=0.4))
    assert list(dialogues(50, seed=3, sloppiness=0.4)) == first
    assert list(dialogues(50, seed=4, sloppiness=0.4)) != first
    with pytest.raises(ValueError, match="from 0 to 1"):
        list(dialogues(1, seed=0, sloppiness=1.5))


def test_correct_answers_are_in_the_grammar_and_spoilt_ones_are_not(compiled: CompiledGrammar) -> None:
    seen: Counter[str] = Counter()
    for dialogue in dialogues(1500, seed=5, sloppiness=0.4):
        seen.update(call.name for call in dialogue.calls)
        assert (judge(dialogue.answer) is not None) == dialogue.spoilt, dialogue.answer
        assert in_grammar(compiled, dialogue.answer) != dialogue.spoilt, dialogue.answer
    assert seen.keys() == TOOLS.keys()


def test_answers_with_words_are_spelt_right_exactly_when_they_are_not_spoilt(demo: LanguageModel) -> None:
    compiled = demo.compiler.compile_grammar(free_text_grammar())
    seen: Counter[int] = Counter()
    for dialogue in dialogues(600, seed=6, sloppiness=0.4, words=1.0, listed=0.2):
        asked = [{"name": call.name, "arguments": dict(call.arguments)} for call in dialogue.calls]
        assert (read_calls(dialogue.answer) != (asked, None)) == dialogue.spoilt, dialogue.answer
        assert dialogue.spoilt or in_grammar(compiled, dialogue.answer), dialogue.answer
        seen[len(asked)] += 1
    assert set(seen) == {0, 1, 2, 3}


def test_with_the_list_of_tools_answers_are_wrong_less_often() -> None:
    def wrong(listed: float) -> int:
        found = list(dialogues(800, seed=4, sloppiness=0.5, listed=listed))
        assert all((tool_list() in one.request) == bool(listed) for one in found)
        return sum(one.spoilt for one in found)

    assert 0 < wrong(1.0) < wrong(0.0) / 2


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.__name__)
def test_every_habit_spoils(habit: object, compiled: CompiledGrammar) -> None:
    for dialogue in dialogues(60, seed=8, sloppiness=0):
        text = habit(dialogue.calls, Random(0))  # type: ignore[operator]
        assert judge(text) is not None
        assert not in_grammar(compiled, text)


def weather(**arguments: object) -> str:
    return render([Call("get_weather", arguments)])


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (weather(city="Lund"), None),
        (weather(city=f"a {CLOSE} inside"), None),
        (weather(city="Lund") + "\n" + weather(city="Oslo", unit="celsius"), None),
        (f'{OPEN} {{"arguments": {{"city": "Lund"}}, "name": "get_weather"}} {CLOSE}', None),
        ("", "no call"),
        ("\n".join([weather(city="Lund")] * 3), "too many calls"),
        ("It rains. " + weather(city="Lund"), "text outside the tags"),
        (weather(city="Lund") + "!", "text outside the tags"),
        (weather(city="Lund").removesuffix(CLOSE), "unclosed tag"),
        (f"{OPEN}{{{CLOSE}", "not JSON"),
        (OPEN + "[" * 100_000 + CLOSE, "not JSON"),
        (f"{OPEN}[1]{CLOSE}", "not a call object"),
        (f'{OPEN}{{"name": "get_weather"}}{CLOSE}', "not a call object"),
        (f'{OPEN}{{"name": "get_wether", "arguments": {{}}}}{CLOSE}', "unknown tool"),
        (f'{OPEN}{{"name": [], "arguments": {{}}}}{CLOSE}', "unknown tool"),
        (f'{OPEN}{{"name": "get_weather", "arguments": []}}{CLOSE}', "arguments are not an object"),
        (weather(city="Lund", when="now"), "unknown argument"),
        (weather(unit="celsius"), "missing argument"),
        (weather(city=""), "wrong type or value"),
        (weather(city="Lund", unit="kelvin"), "wrong type or value"),
        (weather(city=7), "wrong type or value"),
        (render([Call("set_reminder", {"text": "x", "time": "24:00"})]), "wrong type or value"),
        (render([Call("set_timer", {"minutes": True})]), "wrong type or value"),
        (render([Call("set_timer", {"minutes": 2.5})]), "wrong type or value"),
        (render([Call("calculate", {"operation": "add", "a": 1e9, "b": 1})]), "wrong type or value"),
        (render([Call("play_music", {"artist": "x", "shuffle": 1})]), "wrong type or value"),
    ],
)
def test_the_judge(answer: str, fault: str | None) -> None:
    assert judge(answer) == fault


def test_the_grammar_agrees_with_the_judge_on_random_sentences(tiny: LanguageModel) -> None:
    """A model that knows nothing, under the grammar: whatever it writes can be run, and is one of the tools' calls."""
    compiled = tiny.compiler.compile_grammar(grammar_text())
    names: Counter[str] = Counter()
    for seed in range(15):
        result = generate(tiny, [5], compiled, seed=seed, temperature=2, max_tokens=1000, alternatives=0)
        if result.finish_reason != "length":
            assert judge(result.text) is None, result.text
            names[json.JSONDecoder().raw_decode(result.text, len(OPEN))[0]["name"]] += 1
    assert len(names) >= 4


def test_no_sentence_is_longer_than_a_thousand_bytes(compiled: CompiledGrammar) -> None:
    widest = "\U0001f600" * TEXT_LIMIT
    answer = render([Call("send_message", {"to": widest, "body": widest})] * 2)
    assert in_grammar(compiled, answer)
    assert not in_grammar(compiled, answer.replace(widest, widest + "x"))
    assert len(answer.encode()) <= 1_000


def test_shipped_files_are_those_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in `weights/` was made by the code beside it: same settings, same text, same tokenizer, same shape."""
    recipe = Recipe()
    few = replace(recipe, dialogues=3)
    assert replace(few, data_seed=2).fingerprint() != few.fingerprint()
    corpus = recipe.corpus()
    monkeypatch.setattr(Recipe, "corpus", lambda _: corpus)
    note = json.loads((WEIGHTS_FOLDER / "recipe.json").read_text())
    assert note["fingerprint"] == recipe.fingerprint()

    tokenizer = train_tokenizer(corpus, recipe.vocabulary)
    shipped = json.loads((WEIGHTS_FOLDER / "tokenizer.json").read_text())
    assert json.loads(tokenizer.to_str()) == shipped

    config = transformers.AutoConfig.from_pretrained(WEIGHTS_FOLDER)
    expected = model_config(recipe, tokenizer).to_dict()
    for key in ("architectures", "dtype", "torch_dtype", "transformers_version", "_name_or_path"):
        expected.pop(key, None)
    assert {key: config.to_dict()[key] for key in expected} == expected
    assert (WEIGHTS_FOLDER / "model.safetensors").stat().st_size < 5_000_000


def test_the_demo_model_reads_chats(demo: LanguageModel) -> None:
    (dialogue,) = dialogues(1, seed=1, sloppiness=0)
    ids = demo.encode_prompt(dialogue.request)
    assert demo.tokenizer.decode(ids, skip_special=False) == dialogue.prompt
    names = [demo.tokenizer.token_bytes(i).decode() for i in demo.tokenizer.info.special_token_ids]
    assert tuple(names) == SPECIAL_TOKENS
    assert [demo.tokenizer.token_bytes(i) for i in demo.tokenizer.info.stop_token_ids] == [b"<|end|>"]


def test_free_answers_are_often_wrong_and_constrained_ones_never(
    demo: LanguageModel, compiled: CompiledGrammar
) -> None:
    wrong, right = 0, 0
    asked = list(dialogues(20, seed=3_000, sloppiness=0))
    for seed, dialogue in enumerate(asked):
        wrong += judge(generate(demo, dialogue.request, seed=seed, max_tokens=250, record=False).text) is not None
        bound = generate(demo, dialogue.request, compiled, seed=seed, max_tokens=1_000, record=False).text
        assert judge(bound) is None
        calls, _ = read_calls(bound)
        right += calls == [{"name": call.name, "arguments": dict(call.arguments)} for call in dialogue.calls]
    assert 0.2 <= wrong / len(asked) <= 0.75
    # It is a model, not noise: with the format out of the way it often does what it was asked.
    assert right > 4


def test_training_writes_a_loadable_model(tmp_path: Path) -> None:
    recipe = replace(
        Recipe(),
        dialogues=400,
        vocabulary=400,
        hidden=32,
        heads=4,
        layers=1,
        intermediate=64,
        batch=8,
        steps=30,
        threads=1,
    )
    losses = [train(recipe, tmp_path / str(run)) for run in range(2)]
    assert losses[0] == losses[1]
    weights = [(tmp_path / str(run) / "model.safetensors").read_bytes() for run in range(2)]
    assert weights[0] == weights[1]
    assert losses[0] < train(replace(recipe, steps=1), tmp_path / "short")
    model = load_model(tmp_path / "0", device="cpu")
    assert model.vocab_size == 400
    assert generate(model, "weather in Lund", grammar_text(), seed=0, max_tokens=720).constrained
