"""The same constraint inside `transformers`' own `generate`: batches, sampling, several sequences, beams."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kernels_core import CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo  # noqa: E402
from kernels_core.errors import DeadEndError, TokenizerError  # noqa: E402
from workbench.generation import GrammarLogitsProcessor, LanguageModel, generate  # noqa: E402

DIGITS = "root ::= [0-9]{2,4}"
WORDS = 'root ::= "<" [a-z]{1,5} ">"'
LISTS = 'root ::= "[" (item ("," item){0,3})? "]"\nitem ::= [0-9]{1,2} | root'


def check(model: LanguageModel, compiled: CompiledGrammar, tokens: list[int]) -> bytes:
    """The text of a row: accepted token by token up to the stop token, padding after it."""
    matcher = GrammarMatcher(compiled)
    for place, token in enumerate(tokens):
        if matcher.is_terminated():
            assert set(tokens[place:]) <= {0, *model.tokenizer.info.stop_token_ids}
            break
        assert matcher.accept_token(token)
    return matcher.text


def run(model: LanguageModel, processor: GrammarLogitsProcessor, rows: int, **options: object) -> list[list[int]]:
    prompt = torch.tensor([model.tokenizer.encode("fox")] * rows)
    output = model.model.generate(
        prompt, attention_mask=torch.ones_like(prompt), logits_processor=[processor], max_new_tokens=30, **options
    )
    return output[:, prompt.shape[1] :].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("options", [{"do_sample": True, "top_k": 0}, {"num_beams": 4}, {"do_sample": False}])
@pytest.mark.parametrize("seed", range(3))
def test_a_batch_under_different_grammars(tiny: LanguageModel, options: dict[str, object], seed: int) -> None:
    torch.manual_seed(seed)
    compiled = [tiny.compiler.compile_grammar(text) for text in (DIGITS, WORDS, LISTS)]
    rows = run(tiny, GrammarLogitsProcessor(compiled), 3, **options)
    texts = [check(tiny, grammar, row) for grammar, row in zip(compiled, rows, strict=True)]
    assert texts[0].isdigit()
    assert texts[1].startswith(b"<")


def test_several_sequences_of_each_prompt(tiny: LanguageModel) -> None:
    torch.manual_seed(1)
    compiled = [tiny.compiler.compile_grammar(text) for text in (DIGITS, WORDS)]
    rows = run(tiny, GrammarLogitsProcessor(compiled), 2, do_sample=True, top_k=0, num_return_sequences=3)
    texts = [check(tiny, compiled[number // 3], row) for number, row in enumerate(rows)]
    assert all(text.isdigit() for text in texts[:3])
    assert len(set(texts)) > 2


def test_greedy_agrees_with_our_loop(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(LISTS)
    (row,) = run(tiny, GrammarLogitsProcessor(compiled), 1, do_sample=False)
    ours = generate(tiny, tiny.tokenizer.encode("fox"), compiled, temperature=0, max_tokens=30)
    # Ours ends where the grammar leaves only the stop token; theirs draws it.
    assert row[: len(ours.tokens)] == list(ours.tokens)
    assert set(row[len(ours.tokens) :]) <= {*tiny.tokenizer.info.stop_token_ids}


def test_a_processor_serves_one_generation_until_reset(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(WORDS)
    processor = GrammarLogitsProcessor(compiled)
    first = run(tiny, processor, 1, do_sample=False)
    assert run(tiny, processor, 1, do_sample=False) == first
    longer, shorter = torch.tensor([[5] * 40]), torch.tensor([[7]])
    scores = torch.zeros(1, tiny.vocab_size)
    with pytest.raises(ValueError, match="reset"):
        processor(longer, scores)
    processor.reset()
    start = processor(longer, scores)
    assert torch.isfinite(start).sum() == len(GrammarMatcher(compiled).allowed_token_ids())
    assert torch.equal(processor(shorter, scores), start)
    after = processor(torch.cat([shorter, start.argmax().reshape(1, 1)], dim=1), scores)
    assert not torch.equal(after, start)


def test_wider_scores_are_masked_and_narrower_refused(tiny: LanguageModel) -> None:
    info = TokenizerInfo([b"a", b"b", b"ab", b"</s>"], stop_token_ids=[3])
    compiled = GrammarCompiler(info).compile_grammar('root ::= "ab" | "b"')
    scores = torch.zeros(1, 6)
    masked = GrammarLogitsProcessor(compiled)(torch.zeros(1, 1, dtype=torch.long), scores)
    assert torch.isfinite(masked[0]).tolist() == [True, True, True, False, False, False]
    assert torch.equal(scores, torch.zeros(1, 6))
    with pytest.raises(TokenizerError, match="vocab_size=3"):
        GrammarLogitsProcessor(compiled)(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 3))


def test_what_cannot_work_is_refused(tiny: LanguageModel) -> None:
    endless = TokenizerInfo([b"a", b"b"], stop_token_ids=[])
    with pytest.raises(TokenizerError, match="no stop token"):
        GrammarLogitsProcessor(GrammarCompiler(endless).compile_grammar('root ::= "a"'))
    with pytest.raises(ValueError, match="no grammar"):
        GrammarLogitsProcessor([])
    info = TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])
    compiled = GrammarCompiler(info).compile_grammar('root ::= "a" "c" | "b"')
    with pytest.raises(TokenizerError, match="one vocabulary"):
        GrammarLogitsProcessor([compiled, tiny.compiler.compile_grammar(DIGITS)])
    with pytest.raises(ValueError, match="divide"):
        GrammarLogitsProcessor([compiled, compiled])(torch.zeros(3, 1, dtype=torch.long), torch.zeros(3, 3))

    forbidden = GrammarLogitsProcessor(compiled)
    forbidden(torch.tensor([[0]]), torch.zeros(1, 3))
    with pytest.raises(ValueError, match="forbids"):
        forbidden(torch.tensor([[0, 2]]), torch.zeros(1, 3))

    dead = GrammarLogitsProcessor(compiled)
    dead(torch.tensor([[0]]), torch.zeros(1, 3))
    with pytest.raises(DeadEndError) as caught:
        dead(torch.tensor([[0, 0]]), torch.zeros(1, 3))
    assert "row 0" in caught.value.__notes__[0]
