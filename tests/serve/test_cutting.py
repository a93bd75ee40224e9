"""`healing` and `canonical` as fields of a request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serve.conftest import SCHEMA, TOOLS, Client

pytest.importorskip("torch")

from workbench.generation import LanguageModel, generate
from workbench.generation.cutting import heal
from workbench.serving import Service

FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}


def test_a_canonical_answer_has_the_tokens_of_the_tokenizer(client: Client, demo: LanguageModel) -> None:
    """The number of its tokens tells."""
    differ = 0
    for seed in range(8):
        counts = []
        for canonical in (True, False):
            told = client.chat(response_format=FORM, seed=seed, temperature=1.5, canonical=canonical).json()
            assert told["choices"][0]["finish_reason"] == "stop"
            counts.append((told["usage"]["completion_tokens"], told["choices"][0]["message"]["content"]))
        count, text = counts[0]
        assert count - len(demo.tokenizer.encode(text)) in (0, 1)  # with a stop token or without
        differ += counts[1][0] - len(demo.tokenizer.encode(counts[1][1])) not in (0, 1)
    assert differ


def test_a_healed_answer_goes_on_from_inside_the_prompt(client: Client, demo: LanguageModel) -> None:
    prompt = "weather in Lu"
    assert heal(demo.tokenizer.info, demo.encode_prompt(prompt, chat=False))[1]
    for seed in range(3):
        body: dict[str, Any] = {"model": "demo", "prompt": prompt, "seed": seed, "max_tokens": 12, "healing": True}
        answer = client.ask("/v1/completions", body)
        assert answer.status_code == 200, answer.text
        alone = generate(demo, prompt, chat=False, seed=seed, max_tokens=12, healing=True, temperature=1.0)
        assert answer.json()["choices"][0]["text"] == alone.text


def test_log_probabilities_of_a_healed_answer(client: Client) -> None:
    asked: dict[str, Any] = {"model": "demo", "prompt": "weather in Lu", "max_tokens": 6, "healing": True}
    for seed in range(3):
        told = client.ask("/v1/completions", {**asked, "seed": seed, "logprobs": 0}).json()
        found, text = told["choices"][0]["logprobs"], told["choices"][0]["text"]
        assert len(found["tokens"]) == told["usage"]["completion_tokens"]
        assert "".join(found["tokens"]) == "u" + text
        starts = [len("".join(found["tokens"][:count])) - 1 for count in range(len(found["tokens"]))]
        assert found["text_offset"] == [0, *starts[1:]]


def test_a_healed_answer_beside_tools_has_nothing_of_the_prompt(client: Client) -> None:
    turns = [{"role": "user", "content": "weather in Lund"}, {"role": "assistant", "content": "weather in Lu"}]
    asked = {"messages": turns, "continue_final_message": True, "healing": True, "seed": 1, "max_tokens": 12}
    plain, beside = (
        client.chat(**asked, temperature=0, **more).json()["choices"][0]["message"]["content"]
        for more in ({}, {"tools": TOOLS, "tool_choice": "none"})
    )
    assert plain[0] == beside[0] == "n"


def test_too_few_tokens_are_told_before_the_first(client: Client) -> None:
    for cuts in ({"canonical": True}, {"healing": True}):
        error = client.chat(response_format=FORM, max_tokens=2, **cuts).json()["error"]
        assert (error["code"], error["param"]) == ("max_tokens_too_small", "max_tokens")


def test_a_model_without_a_tokenizer_has_no_canonical_answers(demo: LanguageModel, monkeypatch: Any) -> None:
    service = Service(demo)
    try:
        monkeypatch.setattr(demo.tokenizer, "_codec", None)
        error = Client(service).chat(canonical=True).json()["error"]
        assert (error["code"], error["param"]) == ("unsupported_value", "canonical")
    finally:
        service.close()
