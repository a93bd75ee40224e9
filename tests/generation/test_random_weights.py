"""Architectures with random weights: their shape, their label everywhere, and what they cannot do."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from workbench.generation import ModelError, generate, load_model, random_weights  # noqa: E402

NAME = "random:mistral-7b-v0.3@tiny"
# Millions of parameters, as published with each model.
PUBLISHED = {
    "llama-3.2-1b": 1236,
    "llama-3.2-3b": 3213,
    "llama-3.1-8b": 8030,
    "qwen3-8b": 8191,
    "mistral-7b-v0.3": 7248,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_architecture_has_the_published_number_of_parameters(name: str) -> None:
    assert round(parameters("random:" + name) / 1e6) == PUBLISHED[name]


@pytest.mark.parametrize("name", random_weights.ARCHITECTURES)
def test_scales_keep_the_make(name: str) -> None:
    whole = random_weights.config_of("random:" + name)
    sizes = [parameters(f"random:{name}@{scale}") for scale in random_weights.SCALES]
    assert sizes == sorted(sizes)
    for scale in random_weights.SCALES:
        made = random_weights.config_of(f"random:{name}@{scale}")
        assert type(made) is type(whole)
        assert made.vocab_size == whole.vocab_size
        assert (
            made.num_attention_heads * whole.num_key_value_heads == whole.num_attention_heads * made.num_key_value_heads
        )
        assert made.intermediate_size / made.hidden_size == whole.intermediate_size / whole.hidden_size


def parameters(name: str) -> int:
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(random_weights.config_of(name))
    return sum(parameter.numel() for parameter in model.parameters())


def test_it_writes_under_a_grammar_and_is_labelled_as_random() -> None:
    before = torch.random.get_rng_state()
    model = load_model(NAME, device="cpu")
    assert torch.equal(before, torch.random.get_rng_state())
    assert model.vocab_size == 32_768
    assert f"{NAME}: MistralForCausalLM" in repr(model)
    answer = generate(model, "hello", 'root ::= "yes" | "no"', max_tokens=20, seed=1)
    assert answer.text in {"yes", "no"}
    assert answer.model == NAME
    assert NAME in repr(answer)
    assert NAME in str(answer)
    assert NAME in answer.to_html()
    assert NAME in answer._repr_html_()
    assert set(answer.to_frame()["model"]) == {NAME}


def test_weights_are_the_same_every_time() -> None:
    one, two = (load_model(NAME, device="cpu").model.state_dict() for _ in range(2))
    assert all(torch.equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("random:gpt-9", "known: llama-3.2-1b"),
        ("random:llama-3.1-8b@huge", "@tiny"),
        ("random:llama-3.1-8b@", "no scale"),
    ],
)
def test_what_there_is_not(name: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        load_model(name, device="cpu")


def test_what_does_not_fit_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_weights, "_free_bytes", lambda device: 10**10)
    with pytest.raises(ModelError, match=r"282 GB of memory on cpu.*random:llama-3.1-70b@tiny"):
        load_model("random:llama-3.1-70b", device="cpu")
