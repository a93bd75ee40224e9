"""Sums over tokenisations, held against a model that reads every tokenisation by itself."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.conditioning.conftest import GRAMMAR  # noqa: E402
from workbench.conditioning.tree import PrefixTree  # noqa: E402
from workbench.generation import LanguageModel  # noqa: E402

TEXTS = ["the", "he", "thee", "e", "t", "te", "ethe", "tee", "th"]


class Reader:
    """Log probabilities of the plain model, each text read anew."""

    def __init__(self, model: LanguageModel, prompt: str) -> None:
        self.model = model
        self.prompt = model.encode_prompt(prompt, chat=False)
        self.vocabulary = model.tokenizer.info.decoded_vocab
        self.stops = model.tokenizer.info.stop_token_ids
        special = {*model.tokenizer.info.special_token_ids, *self.stops}
        self.texts = [token for token, text in enumerate(self.vocabulary) if text and token not in special]

    def next(self, tokens: list[int]) -> list[float]:
        with torch.no_grad():
            logits = self.model.model(torch.tensor([[*self.prompt, *tokens]])).logits[0, -1].double()
        found: list[float] = logits.softmax(-1).tolist()
        return found

    def cuts(self, text: bytes) -> Iterator[list[int]]:
        """All tokenisations."""
        if not text:
            yield []
        for token in self.texts:
            if text.startswith(self.vocabulary[token]):
                for rest in self.cuts(text[len(self.vocabulary[token]) :]):
                    yield [token, *rest]

    def product(self, tokens: list[int]) -> float:
        return math.prod(self.next(tokens[:number])[token] for number, token in enumerate(tokens))

    def then_stop(self, text: str) -> float:
        return sum(
            self.product(cut) * sum(self.next(cut)[stop] for stop in self.stops) for cut in self.cuts(text.encode())
        )

    def as_prefix(self, text: str) -> float:
        """The last token of each cut is one that begins with what is left of the text."""
        whole, found = text.encode(), 0.0
        for length in range(len(whole)):
            left = whole[length:]
            over = [token for token in self.texts if self.vocabulary[token].startswith(left)]
            for cut in self.cuts(whole[:length]):
                after = self.next(cut)
                found += self.product(cut) * sum(after[token] for token in over)
        return found


@pytest.mark.parametrize("prompt", ["quick", "the fox"])
def test_texts_are_summed_over_all_tokenisations(leaning: LanguageModel, prompt: str) -> None:
    reader = Reader(leaning, prompt)
    found = wb.probability(leaning, prompt, TEXTS)
    for text in TEXTS:
        assert found[text] == pytest.approx(reader.then_stop(text), rel=1e-4, abs=1e-12)
    assert found.total == pytest.approx(sum(map(reader.then_stop, TEXTS)), rel=1e-4)
    assert found.exact
    assert found.stopped is None
    assert sum(found.given_one_of_them().values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("texts", [["the", "he", "tee"], ["t"], ["quick brown", "qu"]])
def test_what_begins_with_a_text_may_run_past_its_end(leaning: LanguageModel, texts: list[str]) -> None:
    reader = Reader(leaning, "dog")
    found = wb.probability(leaning, "dog", texts, ends="prefix")
    for text in texts:
        assert found[text] == pytest.approx(reader.as_prefix(text), rel=1e-4)


def test_a_text_and_its_beginning_are_counted_once(leaning: LanguageModel) -> None:
    found = wb.probability(leaning, "dog", ["t", "th", "he"], ends="prefix")
    assert found.total == pytest.approx(found["t"] + found["he"])
    with pytest.raises(ValueError, match="one text begins with another"):
        found.given_one_of_them()


def test_the_empty_text_is_a_stop_token_at_once(leaning: LanguageModel) -> None:
    reader = Reader(leaning, "dog")
    assert wb.probability(leaning, "dog", [""])[""] == pytest.approx(reader.then_stop(""), rel=1e-4)


def test_a_grammar_has_the_probability_of_its_texts(leaning: LanguageModel) -> None:
    listed = wb.probability(leaning, "quick", TEXTS)
    whole = wb.probability(leaning, "quick", GRAMMAR)
    assert whole.total == pytest.approx(listed.total, rel=1e-6)
    assert dict(whole) == pytest.approx(dict(listed), rel=1e-6)
    assert whole.forwards == listed.forwards  # both read the prefixes of the texts and no others


def test_a_longer_text_than_max_tokens_is_in_no_language(leaning: LanguageModel) -> None:
    reader = Reader(leaning, "quick")
    found = wb.probability(leaning, "quick", GRAMMAR, max_tokens=1)
    one = {
        token: reader.vocabulary[token].decode()
        for token in reader.texts
        if reader.vocabulary[token] in [text.encode() for text in TEXTS]
    }
    expected = sum(reader.next([])[token] * reader.next([token])[reader.stops[0]] for token in one)
    assert found.total == pytest.approx(expected, rel=1e-4)
    assert set(found) == set(one.values())


def test_a_stop_token_may_stand_inside_a_text(leaning: LanguageModel) -> None:
    """Where the text could not end."""
    (stop,) = leaning.tokenizer.info.stop_token_ids
    reader = Reader(leaning, "quick")
    found = wb.probability(leaning, "quick", f'root ::= "t" | "h" Token({stop}) "he"')
    (first,) = (token for token in reader.texts if reader.vocabulary[token] == b"h")
    behind = [[first, stop, *cut] for cut in reader.cuts(b"he")]
    assert found["t"] == pytest.approx(reader.then_stop("t"), rel=1e-4)
    assert found["hhe"] == pytest.approx(sum(reader.product(cut) * reader.next(cut)[stop] for cut in behind), rel=1e-4)


def test_bounds_hold_wherever_the_walk_is_stopped(leaning: LanguageModel) -> None:
    truth = wb.probability(leaning, "quick", TEXTS)
    upper = 1.0
    for most in range(1, truth.forwards):
        found = wb.probability(leaning, "quick", TEXTS, max_forwards=most)
        assert found.stopped == "max_forwards"
        assert found.forwards <= most
        assert found.total.lower <= truth.total * (1 + 1e-5)
        assert found.total.upper >= truth.total * (1 - 1e-5)
        assert found.total.upper <= upper * (1 + 1e-5)
        upper = found.total.upper
        for text, value in truth.items():
            assert found[text].lower <= value * (1 + 1e-5)
            assert found[text].upper >= value * (1 - 1e-5)
            assert found[text].upper <= found.total.upper
    with pytest.raises(ValueError, match="raise max_forwards"):
        found.given_one_of_them()
    assert " to " in repr(wb.probability(leaning, "quick", TEXTS, max_forwards=2).total)


@pytest.mark.parametrize("passes", range(5))
def test_an_interruption_leaves_bounds(leaning: LanguageModel, monkeypatch: pytest.MonkeyPatch, passes: int) -> None:
    truth = wb.probability(leaning, "quick", GRAMMAR)
    read = PrefixTree._read

    def interrupted(tree: PrefixTree, prefixes: list) -> None:  # type: ignore[type-arg]
        if tree.passes == passes:
            raise KeyboardInterrupt
        read(tree, prefixes)

    monkeypatch.setattr(PrefixTree, "_read", interrupted)
    found = wb.probability(leaning, "quick", GRAMMAR)
    assert found.stopped == "interrupted"
    assert found.total.lower * (1 - 1e-5) <= truth.total <= found.total.upper * (1 + 1e-5)


def test_free_text_takes_its_likeliest_tokens_first(leaning: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the vocabulary may follow, in slices of three."""
    monkeypatch.setattr("workbench.conditioning.walk.SLICE", 3)
    free = "root ::= [^<]*"
    one = wb.probability(leaning, "quick", free, max_tokens=1)
    assert one.exact
    reader = Reader(leaning, "quick")
    first = reader.next([])
    words = [
        token
        for token in reader.texts
        if "<" not in (text := reader.vocabulary[token].decode(errors="ignore"))
        and text.encode() == reader.vocabulary[token]
    ]
    expected = first[reader.stops[0]] + sum(first[token] * reader.next([token])[reader.stops[0]] for token in words)
    assert one.total == pytest.approx(expected, rel=1e-4)
    some = wb.probability(leaning, "quick", free, max_tokens=3, max_forwards=40)
    assert some.total.lower < some.total.upper < 1
    assert wb.probability(leaning, "quick", free, max_tokens=3, tolerance=0.5).stopped in (None, "max_forwards")


def test_questions_that_cannot_be_answered(leaning: LanguageModel) -> None:
    with pytest.raises(ValueError, match='ends is "stop" or "prefix"'):
        wb.probability(leaning, "dog", ["a"], ends="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="for a list of texts"):
        wb.probability(leaning, "dog", GRAMMAR, ends="prefix")
    with pytest.raises(ValueError, match="no text to ask about"):
        wb.probability(leaning, "dog", [])
    with pytest.raises(ValueError, match="everything begins with"):
        wb.probability(leaning, "dog", ["", "a"], ends="prefix")
    with pytest.raises(ValueError, match="tolerance"):
        wb.probability(leaning, "dog", ["a"], tolerance=1.0)
    with pytest.raises(KeyError):
        wb.probability(leaning, "dog", ["a"])["b"]


def test_they_show_themselves(leaning: LanguageModel) -> None:
    found = wb.probability(leaning, "quick", TEXTS)
    assert repr(found).startswith("<Probabilities {'the': ")
    assert "ethe" in found._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert (dict(again), again.total.upper) == (dict(found), found.total.upper)
    frame = found.to_frame()
    assert list(frame.text) == list(found)
    assert (frame.upper >= frame.probability).all()


@pytest.mark.long
def test_a_real_model_agrees_with_brute_force(smollm2: LanguageModel) -> None:
    prompt = "Q: Is the sky blue?\nA:"
    reader = Reader(smollm2, prompt)
    texts = [" Yes", " No", " no"]
    found = wb.probability(smollm2, prompt, texts, chat=False)
    begins = wb.probability(smollm2, prompt, texts, ends="prefix", chat=False)
    for text in texts:
        assert found[text] == pytest.approx(reader.then_stop(text), abs=1e-5)
        assert found[text] == pytest.approx(reader.then_stop(text), rel=1e-3)
        assert begins[text] == pytest.approx(reader.as_prefix(text), abs=1e-5)
