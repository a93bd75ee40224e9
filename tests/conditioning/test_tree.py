"""The tree of prefixes: whatever the order in which they are read, the model says of each what it says of it alone."""

from __future__ import annotations

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.conditioning.tree import OutOfForwardsError, Prefix, PrefixTree  # noqa: E402
from workbench.generation import LanguageModel, ModelError  # noqa: E402


def alone(model: LanguageModel, tokens: list[int], temperature: float = 1.0) -> np.ndarray:
    with torch.no_grad():
        logits = model.model(torch.tensor([tokens])).logits[0, -1].double()
    found: np.ndarray = (logits / temperature).log_softmax(-1).numpy()
    return found


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_branches_of_a_tree_are_read_as_texts_of_their_own(leaning: LanguageModel, temperature: float) -> None:
    prompt = leaning.encode_prompt("the quick fox", chat=False)
    tree = PrefixTree(leaning, prompt, temperature=temperature)
    tree.read([tree.root])
    dice, known = random.Random(3), [tree.root]
    for _ in range(12):
        new = [tree.child(dice.choice(known), dice.randrange(leaning.vocab_size)) for _ in range(7)]
        tree.read(new)
        known += new
    for prefix in known:
        expected = alone(leaning, [*prompt, *prefix.tokens], temperature)
        np.testing.assert_allclose(tree.log_probs(prefix), expected, atol=1e-4)
        whole = sum(alone(leaning, [*prompt, *prefix.tokens[:n]], temperature)[t] for n, t in enumerate(prefix.tokens))
        assert prefix.log_prob == pytest.approx(whole, abs=1e-3)
    assert tree.forwards == len(set(known))


def test_a_prefix_is_read_once(leaning: LanguageModel) -> None:
    tree = PrefixTree(leaning, leaning.encode_prompt("dog", chat=False))
    tree.read([tree.root, tree.root])
    child = tree.child(tree.root, 7)
    assert tree.child(tree.root, 7) is child
    tree.read([child, tree.root])
    assert (tree.forwards, tree.passes) == (2, 2)


def test_a_prompt_of_one_token(leaning: LanguageModel) -> None:
    tree = PrefixTree(leaning, [9])
    tree.read([tree.root])
    tree.read([tree.child(tree.root, 4)])
    np.testing.assert_allclose(tree.log_probs(tree.child(tree.root, 4)), alone(leaning, [9, 4]), atol=1e-4)


def test_what_was_put_aside_is_computed_again(leaning: LanguageModel) -> None:
    tree = PrefixTree(leaning, leaning.encode_prompt("dog", chat=False))
    tree._most_kept = 2
    tree.read([tree.root])
    children = [tree.child(tree.root, token) for token in range(40, 50)]
    tree.read(children)
    assert len(tree._kept) <= 2
    forwards = tree.forwards
    for child in children:
        np.testing.assert_allclose(tree.log_probs(child), alone(leaning, [*tree.prompt, child.token]), atol=1e-4)
    assert tree.forwards == forwards


def test_no_more_is_read_than_allowed(leaning: LanguageModel) -> None:
    tree = PrefixTree(leaning, leaning.encode_prompt("dog", chat=False), max_forwards=3)
    tree.read([tree.root])
    with pytest.raises(OutOfForwardsError):
        tree.read([tree.child(tree.root, token) for token in range(3)])
    tree.read([tree.child(tree.root, token) for token in range(2)])
    assert tree.forwards == 3


def test_settings_that_mean_nothing(leaning: LanguageModel) -> None:
    with pytest.raises(ValueError, match="temperature must be a number above 0, not 0"):
        PrefixTree(leaning, [9], temperature=0)
    with pytest.raises(ValueError, match="max_forwards must be at least 1"):
        PrefixTree(leaning, [9], max_forwards=0)
    with pytest.raises(ModelError, match="no room to write"):
        PrefixTree(leaning, [9] * (leaning.context or 0))
    tree = PrefixTree(leaning, [9])
    with pytest.raises(ValueError, match="was not read"):
        tree.log_probs(tree.root)


def test_a_prefix_says_what_it_is(leaning: LanguageModel) -> None:
    root = Prefix(None, 3, 0.0)
    assert repr(Prefix(root, 5, -1.0, ended=True)) == "<Prefix (5,), ended>"
