"""The other cuts of a text: against all cuts, each scored alone."""

from __future__ import annotations

import math
import pickle

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from workbench.generation import LanguageModel, generate  # noqa: E402
from workbench.generation.cuts import find_cuts  # noqa: E402


def all_cuts(model: LanguageModel, text: bytes) -> list[tuple[int, ...]]:
    info = model.tokenizer.info
    silent = {*info.special_token_ids, *info.stop_token_ids}
    found: list[tuple[bytes, tuple[int, ...]]] = [(text, ())]
    whole = []
    while found:
        rest, ids = found.pop()
        if not rest:
            whole.append(ids)
            continue
        for number, token in enumerate(info.decoded_vocab):
            if token and number not in silent and rest.startswith(token):
                found.append((rest[len(token) :], (*ids, number)))
    return whole


def score(model: LanguageModel, prompt: list[int], ids: tuple[int, ...]) -> float:
    run, total, unread = model.start(), 0.0, prompt
    for token in ids:
        total += float(run.advance(unread).double().log_softmax(0)[token])
        unread = [token]
    return total


@pytest.mark.parametrize("text", ["value", "quick", "é", "[1, 2"])
def test_all_cuts_are_found_with_their_probabilities(tiny: LanguageModel, text: str) -> None:
    prompt = tiny.encode_prompt("the")
    expected = {ids: score(tiny, prompt, ids) for ids in all_cuts(tiny, text.encode())}
    chosen = max(expected, key=len)
    found = find_cuts(tiny, prompt, chosen, passes=10_000)
    assert {one.ids for one in found.found} == set(expected)
    for one in found.found:
        assert one.logprob == pytest.approx(expected[one.ids], abs=1e-4)
        assert one.canonical == (list(one.ids) == tiny.tokenizer.encode(text))
        assert one.chosen == (one.ids == chosen)
        assert b"".join(one.tokens) == text.encode()
    assert found.least == pytest.approx(found.most)
    assert found.least == pytest.approx(sum(map(math.exp, expected.values())), rel=1e-4)
    assert found.passes <= len(expected)
    low, high = found.others
    assert low == pytest.approx(high)
    assert [one.logprob for one in found.found] == sorted((one.logprob for one in found.found), reverse=True)


def test_bounds_close_in_on_the_probability(tiny: LanguageModel) -> None:
    prompt, text = tiny.encode_prompt("the"), b"the quick"
    chosen = tiny.tokenizer.encode(text)
    whole = sum(math.exp(score(tiny, prompt, ids)) for ids in all_cuts(tiny, text))
    last = (0.0, 1.0)
    for passes in (1, 2, 4, 16, 64):
        found = find_cuts(tiny, prompt, chosen, passes=passes)
        assert found.passes <= passes
        assert last[0] <= found.least * (1 + 1e-6)
        assert found.most <= last[1] * (1 + 1e-6)
        assert found.least * (1 - 1e-4) <= whole <= found.most * (1 + 1e-4)
        low, high = found.others
        assert 0 <= low <= high <= 1
        last = found.least, found.most


def test_a_generation_tells_its_cuts(tiny: LanguageModel) -> None:
    made = generate(tiny, "the", 'root ::= "value" | "the quick"', seed=1)
    found = made.cuts(passes=4)
    assert found.text == made.text_bytes
    assert found.chosen.ids == tuple(step.token_id for step in made.steps if not step.is_stop)
    frame = found.to_frame()
    assert frame["chosen"].sum() == 1
    assert frame["share"].sum() == pytest.approx(1)
    assert "<table" in found._repr_html_()
    assert repr(made.text)[1:-1] in repr(found)
    healed = generate(tiny, "the quic", healing=True, seed=1, max_tokens=4)
    assert healed.cuts(passes=2).text.startswith(healed.healed)
    with pytest.raises(ValueError, match="has lost its model"):
        pickle.loads(pickle.dumps(made)).cuts()
    with pytest.raises(ValueError, match="at least one token"):
        find_cuts(tiny, [5], [])


def test_control_tokens_stay_where_they_are(tiny: LanguageModel) -> None:
    control = tiny.tokenizer.info.special_token_ids[0]
    chosen = [*tiny.tokenizer.encode("val"), control, *tiny.tokenizer.encode("é")]
    found = find_cuts(tiny, [5], chosen, passes=1000)
    assert {one.ids.count(control) for one in found.found} == {1}
    expected = len(all_cuts(tiny, b"val")) * len(all_cuts(tiny, "é".encode()))
    assert len(found.found) == expected
