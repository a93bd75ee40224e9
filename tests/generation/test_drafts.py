"""Guesses ahead, by the text itself or by a smaller model, in chains and in trees: the text is the same as without."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from kernels_core import GrammarMatcher, TokenizerInfo  # noqa: E402
from kernels_core.errors import TokenizerError  # noqa: E402
from workbench.generation import Drafts, Engine, LanguageModel, ModelError, generate  # noqa: E402
from workbench.generation.drafts import DraftTree, tensors_of  # noqa: E402
from workbench.generation.lookup import Lookup  # noqa: E402
from workbench.generation.row import Row  # noqa: E402
from workbench.generation.sampling import Sampling  # noqa: E402
from workbench.generation.slots import SlotRun  # noqa: E402

GRAMMARS = [
    'root ::= ("the quick brown fox " ){8}',
    'root ::= "{" [a-z]+ (", " [0-9]+)* "}"',
    None,
    'root ::= ("{\\"name\\": " ("1" | "2.5") "}, ")+',
    'root ::= [a-z ]+ "." [a-z ]*',
]
PROMPTS = ["the quick", '{"list": [1', "a", "brown fox jumps over the lazy dog", "0123"]
SETTINGS = [Sampling(0.7), Sampling(0), Sampling(1.0, top_k=20)]


@pytest.fixture(scope="module")
def smaller(tiny: LanguageModel) -> Any:
    """A model that mostly, but not always, draws what the large one draws."""
    model = copy.deepcopy(tiny.model)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.03 * torch.randn_like(parameter)
    return model


def write(model: LanguageModel, drafts: Drafts | int, rows: int = 3, **options: Any) -> list[Row]:
    """Nine texts, more than there are rows, so that they come and go at different times."""
    engine = Engine.of(model, rows=rows, max_length=90, drafts=drafts, **options)
    admitted = []
    for number in range(9):
        grammar = GRAMMARS[number % len(GRAMMARS)]
        matcher = None if grammar is None else GrammarMatcher(model.compiler.compile_grammar(grammar))
        prompt = model.encode_prompt(PROMPTS[number % len(PROMPTS)])
        sampling = SETTINGS[number % len(SETTINGS)]
        admitted.append(engine.admit(prompt, matcher, seed=number, max_tokens=15 + 9 * number, sampling=sampling))
    for _ in engine:
        pass
    return admitted


def written(rows: list[Row]) -> list[Any]:
    return [(row.tokens, bytes(row.text), row.finish_reason) for row in rows]


@pytest.fixture(scope="module")
def plain(tiny: LanguageModel) -> Callable[..., list[Row]]:
    """The same texts without guesses, written once for each of the other options."""
    return cache(lambda **options: write(tiny, 0, **options))


@pytest.mark.parametrize(
    ("drafts", "options"),
    [
        (Drafts(1), {}),
        *product((Drafts(3), Drafts(4, branches=3)), ({}, {"sparse": False}, {"device_masks": True}, {"jump": True})),
    ],
    ids=str,
)
def test_a_smaller_model_changes_the_steps_and_not_the_text(
    tiny: LanguageModel, smaller: Any, plain: Callable[..., list[Row]], drafts: Drafts, options: dict[str, Any]
) -> None:
    rows = write(tiny, Drafts(drafts.tokens, drafts.branches, smaller), **options)
    assert written(rows) == written(plain(**options))
    drafted, accepted = sum(row.drafted for row in rows), sum(row.accepted for row in rows)
    assert 0 < accepted < drafted
    assert all(row.accepted <= row.drafted for row in rows)
    assert sum(row.drawn_from_list for row in rows) == sum(row.drawn_from_list for row in plain(**options))


def test_greedy_texts_are_those_of_the_loop_for_one_text(tiny: LanguageModel, smaller: Any) -> None:
    engine = Engine.of(tiny, rows=2, max_length=90, drafts=Drafts(4, branches=2, model=smaller))
    for grammar in GRAMMARS:
        matcher = None if grammar is None else GrammarMatcher(tiny.compiler.compile_grammar(grammar))
        row = engine.admit(tiny.encode_prompt("the"), matcher, max_tokens=40, sampling=Sampling(0))
        for _ in engine:
            pass
        expected = generate(tiny, "the", grammar, max_tokens=40, temperature=0, record=False)
        assert (row.tokens, row.finish_reason) == (list(expected.tokens), expected.finish_reason)


def test_branches_find_what_a_chain_does_not(tiny: LanguageModel, smaller: Any) -> None:
    """One token ahead, so that both make guesses at the same places: whatever the chain found is in the tree, too."""
    chain, tree = (write(tiny, Drafts(1, branches, smaller), rows=1) for branches in (1, 4))
    passes = [sum(len(row.tokens) - row.accepted for row in rows) for rows in (chain, tree)]
    assert passes[1] < passes[0]
    assert sum(row.drafted for row in tree) > sum(row.drafted for row in chain)


@pytest.mark.parametrize("branches", [1, 3])
def test_the_same_model_guesses_everything(tiny: LanguageModel, plain: Callable[..., list[Row]], branches: int) -> None:
    """It draws under the same masks, by the same numbers, from a cache that is kept behind the text."""
    rows = write(tiny, Drafts(4, branches, tiny))
    assert written(rows) == written(plain())
    for row in rows:
        # Every fifth token is drawn by a pass; a text's end leaves guesses behind it unread.
        assert row.accepted >= len(row.tokens) * 4 // 5 - 4
        assert row.refused == 0
        if branches == 1:
            assert row.drafted - row.accepted <= 4


@pytest.mark.parametrize("branches", [1, 3])
def test_a_text_guesses_from_itself(tiny: LanguageModel, plain: Callable[..., list[Row]], branches: int) -> None:
    rows = write(tiny, Drafts(5, branches))
    assert written(rows) == written(plain())
    assert sum(row.accepted for row in rows) > 0


def test_what_the_grammar_refuses_costs_no_pass(tiny: LanguageModel) -> None:
    """The prompt says what the grammar does not take."""
    grammar = tiny.compiler.compile_grammar('root ::= "fox" [0-9]{9} "fox" [0-9]{9}')
    engine = Engine.of(tiny, rows=1, drafts=3)
    prompt = tiny.encode_prompt("fox fox fox fox fox f") + tiny.encode_prompt("ox")
    row = engine.admit(prompt, GrammarMatcher(grammar), seed=0, sampling=Sampling(0))
    for _ in engine:
        pass
    assert row.finish_reason == "grammar_complete"
    assert row.refused > 0


def test_a_failed_step_changes_nothing(tiny: LanguageModel, smaller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either model, before the first token and in the middle."""
    grammar = tiny.compiler.compile_grammar(GRAMMARS[1] or "")
    texts = []

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("no memory")

    for fails in (False, True):
        engine = Engine.of(tiny, rows=2, max_length=100, drafts=Drafts(3, branches=2, model=smaller))
        row = engine.admit(tiny.encode_prompt("fox jumps"), GrammarMatcher(grammar), seed=5, max_tokens=40)
        for number in range(100):
            if fails and number % 2 == 0:
                for model in (smaller, tiny.model):
                    with monkeypatch.context() as patched:
                        patched.setattr(model.model, "forward", failing)
                        with pytest.raises(torch.OutOfMemoryError):
                            engine.step()
            engine.step()
            if row.finish_reason is not None:
                break
        texts.append((row.tokens, row.drafted, row.accepted, row.refused))
    assert texts[0] == texts[1]
    assert texts[0][2] > 0


def test_what_stood_behind_the_last_two_tokens() -> None:
    text = [1, 2, 3, 1, 2]
    lookup = Lookup(text)
    assert lookup.drafts(4) == [[3, 1, 2]]
    assert lookup.drafts(1) == [[3]]
    assert lookup.drafts(0) == []
    lookup.add(4)
    assert lookup.drafts(3) == []  # 2 4 stood nowhere before
    for token in (9, 1, 2):
        lookup.add(token)
    assert lookup.drafts(2) == [[4, 9]]  # the last time counts
    assert Lookup([*text, 4, 9, 1, 2], places=2).drafts(2) == [[4, 9], [3, 1]]
    assert Lookup([1]).drafts(3) == []
    assert len(lookup) == 9


def test_a_tree_takes_what_the_grammar_takes(tiny: LanguageModel) -> None:
    vocabulary = list(tiny.tokenizer.info.decoded_vocab)
    a, b, c = (vocabulary.index(letter) for letter in (b"a", b"b", b"c"))
    stop = tiny.tokenizer.info.stop_token_ids[0]
    matcher = GrammarMatcher(tiny.compiler.compile_grammar('root ::= "a" ("b" | "c" "a"?)'))
    tree = DraftTree(7, matcher, 9)
    assert tree.add(0, b) is None
    first = tree.add(0, a)
    assert first == tree.add(0, a) == 1
    assert tree.is_chain
    assert (tree.add(1, b), tree.add(1, c)) == (2, 3)
    assert tree.child(1, c) == 3
    assert tree.child(1, a) is None
    assert tree.add(2, stop) == 4
    assert tree.add(4, a) is None  # behind the end
    assert (tree.refused, tree.tokens, tree.depths) == (1, [7, a, b, c, stop], [0, 1, 2, 2, 3])
    assert matcher.num_steps == 0
    assert not tree.is_chain
    full = DraftTree(7, None, 1)
    assert [full.add(0, 300), full.add(0, 301), full.add(0, 300)] == [1, None, 1]


def test_a_tree_is_read_as_its_paths(tiny: LanguageModel) -> None:
    """Each node's logits are those of its path read alone; a path that is kept is a text like any other."""
    run = SlotRun(tiny.model, 3, 120)
    texts = [[5, 6, 7, 8, 200], [9, 4], [250, 3, 3]]
    for slot, text in enumerate(texts):
        run.read(slot, text[:-1])
    trees = [DraftTree(text[-1], None, 8) for text in texts]
    for parent, token in ((0, 11), (0, 12), (2, 13), (1, 14), (3, 15), (3, 16)):
        trees[0].add(parent, token)
    for parent, token in ((0, 21), (1, 22)):
        trees[1].add(parent, token)
    logits = run.logits(run.verify(*tensors_of(trees, run.device)).flatten(0, 1)).clone().unflatten(0, (3, -1))

    def alone(tokens: list[int]) -> Any:
        with torch.no_grad():
            return tiny.model(input_ids=torch.tensor([tokens])).logits[0, -1].float()

    for slot, (text, tree) in enumerate(zip(texts, trees, strict=True)):
        for node in range(len(tree)):
            path, at = list[int](), node
            while at:
                path.insert(0, tree.tokens[at])
                at = tree.parents[at]
            assert torch.allclose(logits[slot, node], alone(text + path), atol=1e-4)
    run.keep([[0, 2, 3, 6], [0, 1], [0]])
    texts = [texts[0] + [12, 13, 16], texts[1] + [21], texts[2]]
    assert run.lengths == [len(text) for text in texts]
    found = run.logits(run.decode(torch.tensor([30, 31, 32])))
    for slot, text in enumerate(texts):
        assert torch.allclose(found[slot], alone([*text, 30 + slot]), atol=1e-4)


def test_models_of_drafts_that_do_not_fit(tiny: LanguageModel) -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=tiny.vocab_size, max_position_embeddings=32, **sizes)
    short = transformers.LlamaForCausalLM(config).eval()
    with pytest.raises(ModelError, match="take max_length=32"):
        Engine.of(tiny, max_length=100, drafts=Drafts(model=short))
    Engine.of(tiny, max_length=32, drafts=Drafts(model=short))
    config = transformers.LlamaConfig(vocab_size=tiny.vocab_size + 1, **sizes)
    with pytest.raises(TokenizerError, match="another vocabulary"):
        Engine.of(tiny, max_length=32, drafts=Drafts(model=transformers.LlamaForCausalLM(config).eval()))
    turned = copy.copy(tiny)
    turned.tokenizer = copy.copy(tiny.tokenizer)
    info = tiny.tokenizer.info
    vocabulary = list(info.decoded_vocab)
    vocabulary[10:12] = vocabulary[11:9:-1]
    turned.tokenizer.info = TokenizerInfo(
        vocabulary, stop_token_ids=info.stop_token_ids, special_token_ids=info.special_token_ids
    )
    with pytest.raises(TokenizerError, match="another vocabulary"):
        Engine.of(tiny, max_length=32, drafts=Drafts(model=turned))
    with pytest.raises(ValueError, match="at least 1 token"):
        Engine.of(tiny, drafts=-1)
    with pytest.raises(ValueError, match="branches"):
        Drafts(3, branches=0)
