"""The same constraint inside `transformers`' own `generate`: batches, sampling, several sequences, beams."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kernels_core import CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo  # noqa: E402
from kernels_core.errors import DeadEndError, TokenizerError  # noqa: E402
from workbench.generation import GrammarLogitsProcessor, LanguageModel, generate, logits_processor  # noqa: E402

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


@pytest.mark.parametrize("grammar", ["root ::= [ab]", 'root ::= "a" | "bc"', 'root ::= "x" [ab]? "y"'])
def test_more_beams_than_the_grammar_has_tokens(tiny: LanguageModel, grammar: str) -> None:
    """Beams of probability 0 are filled up with tokens that are forbidden; they live on as dead ones."""
    compiled = tiny.compiler.compile_grammar(grammar)
    for seed in range(5):
        torch.manual_seed(seed)
        options: dict[str, object] = {"num_beams": 3, "do_sample": True, "top_k": 0}
        rows = run(tiny, GrammarLogitsProcessor(compiled), 2, **options)
        for row in rows:
            matcher = GrammarMatcher(compiled)
            assert matcher.accept_string(check(tiny, compiled, row))
            assert matcher.is_completed()


def test_a_grammar_that_is_not_compiled_is_named() -> None:
    with pytest.raises(TypeError, match="'root ::= \"a\"' is not compiled yet: pass the model's tokenizer, too"):
        GrammarLogitsProcessor('root ::= "a"')


def test_greedy_agrees_with_our_loop(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(LISTS)
    (row,) = run(tiny, GrammarLogitsProcessor(compiled), 1, do_sample=False)
    ours = generate(tiny, tiny.tokenizer.encode("fox"), compiled, temperature=0, max_tokens=30)
    # Ours ends where the grammar leaves only the stop token; theirs draws it.
    assert row[: len(ours.tokens)] == list(ours.tokens)
    assert set(row[len(ours.tokens) :]) <= {*tiny.tokenizer.info.stop_token_ids}


def test_a_new_prompt_begins_a_new_generation(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(WORDS)
    processor = GrammarLogitsProcessor(compiled)
    first = run(tiny, processor, 1, do_sample=False)
    assert run(tiny, processor, 1, do_sample=False) == first
    longer, shorter = torch.tensor([[5] * 40]), torch.tensor([[7]])
    scores = torch.zeros(1, tiny.vocab_size)
    start = processor(longer, scores)
    assert torch.isfinite(start).sum() == len(GrammarMatcher(compiled).allowed_token_ids())
    assert torch.equal(processor(shorter, scores), start)
    after = processor(torch.cat([shorter, start.argmax().reshape(1, 1)], dim=1), scores)
    assert not torch.equal(after, start)
    with pytest.raises(ValueError, match="1 rows in the last call, 2"):
        processor(torch.tensor([[7, 60], [7, 60]]), torch.zeros(2, tiny.vocab_size))
    assert torch.equal(processor(shorter, scores), start)


def scored(processor: GrammarLogitsProcessor, rows: list[list[int]], width: int) -> list[list[int]]:
    """The ids that each row's scores allow."""
    masked = processor(torch.tensor(rows), torch.zeros(len(rows), width))
    return [row.isfinite().nonzero().flatten().tolist() for row in masked]


def test_rows_may_grow_by_several_tokens_go_back_and_change_places(tiny: LanguageModel) -> None:
    """What assisted generation and beams do, in any order: each call equals a matcher that reads the row afresh."""
    random = Random(5)
    compiled = [tiny.compiler.compile_grammar(text) for text in (LISTS, WORDS)]
    stops = set(tiny.tokenizer.info.stop_token_ids)
    for _ in range(30):
        processor = GrammarLogitsProcessor(compiled)
        prompt = [3, 4, 5]
        rows: list[list[int]] = [[] for _ in range(4)]  # two of each grammar
        for _ in range(12):
            expected = []
            for number, row in enumerate(rows):
                matcher = GrammarMatcher(compiled[number // 2])
                for token in row:
                    assert matcher.is_terminated() or matcher.accept_token(token)
                ended = matcher.is_terminated()
                expected.append(sorted(stops) if ended else matcher.allowed_token_ids())
            assert scored(processor, [prompt + row for row in rows], tiny.vocab_size) == expected
            keep = random.randint(max(0, len(rows[0]) - 2), len(rows[0]))
            length = max(keep + random.randint(0, 3), 1)
            chosen = [random.choice((2 * (number // 2), 2 * (number // 2) + 1)) for number in range(4)]
            rows = [rows[parent][:keep] for parent in chosen]
            for number, row in enumerate(rows):
                matcher = GrammarMatcher(compiled[number // 2])
                for token in row:
                    _ = matcher.is_terminated() or matcher.accept_token(token)
                while len(row) < length:
                    token = 0 if matcher.is_terminated() else random.choice(matcher.allowed_token_ids())
                    _ = matcher.is_terminated() or matcher.accept_token(token)
                    row.append(token)


def test_a_refused_token_changes_nothing(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(WORDS)
    processor = GrammarLogitsProcessor(compiled)
    (start,) = scored(processor, [[3]], tiny.vocab_size)
    wrong = next(token for token in range(tiny.vocab_size) if token not in start)
    with pytest.raises(ValueError, match="forbids"):
        scored(processor, [[3, wrong]], tiny.vocab_size)
    (after,) = scored(processor, [[3, start[0]]], tiny.vocab_size)
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_token(start[0])
    assert after == matcher.allowed_token_ids()


def test_prompt_lookup_writes_what_greedy_search_writes(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(LISTS)
    plain = run(tiny, GrammarLogitsProcessor(compiled), 1, do_sample=False)
    looked = run(tiny, GrammarLogitsProcessor(compiled), 1, do_sample=False, prompt_lookup_num_tokens=3)
    assert check(tiny, compiled, looked[0]) == check(tiny, compiled, plain[0])


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


def test_a_steps_work_does_not_grow_with_the_text(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many tokens are compared at each step, with one row for each prompt."""
    compared: list[int] = []
    real = logits_processor._equal

    def counting(old: np.ndarray, new: np.ndarray) -> list[int]:
        compared.append(old.size)
        return real(old, new)

    monkeypatch.setattr(logits_processor, "_equal", counting)
    compiled = tiny.compiler.compile_grammar('root ::= "<" [a-z]* ">"')
    letter, start = tiny.tokenizer.encode("a")[0], tiny.tokenizer.encode("<")[0]
    processor = GrammarLogitsProcessor([compiled, compiled], in_place=True)
    row = [3, 4, start]
    processor(torch.tensor([row[:2]] * 2), torch.zeros(2, tiny.vocab_size))
    work = []
    for _ in range(700):
        before = len(compared)
        scores = torch.zeros(2, tiny.vocab_size)
        assert processor(torch.tensor([row] * 2), scores) is scores
        work.append(sum(compared[before:]))
        row.append(letter)
    assert len(set(work[200:])) == 1
    assert work[-1] > 0
    # Another text of the same length, which differs far back, is told by its own beginning.
    assert len(processor._rows[0].matcher.text) == 700
    other = [9, *row]
    assert scored(processor, [other, other], tiny.vocab_size)[0] == GrammarMatcher(compiled).allowed_token_ids()


def test_an_error_of_one_row_moves_no_other(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is: here an interruption behind the first row."""
    compiled = tiny.compiler.compile_grammar(WORDS)
    processor = GrammarLogitsProcessor([compiled, compiled])
    start = scored(processor, [[3], [3]], tiny.vocab_size)
    rows, advance = iter(range(2)), logits_processor._advance

    def interrupted(*given: Any) -> None:
        if next(rows):
            raise KeyboardInterrupt
        advance(*given)

    grown = [[3, start[0][-1]], [3, start[0][-1]]]
    with monkeypatch.context() as patched:
        patched.setattr(logits_processor, "_advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            scored(processor, grown, tiny.vocab_size)
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_token(start[0][-1])
    assert scored(processor, grown, tiny.vocab_size) == 2 * [matcher.allowed_token_ids()]


def test_a_refused_token_of_one_row_moves_no_other(tiny: LanguageModel) -> None:
    compiled = tiny.compiler.compile_grammar(WORDS)
    processor = GrammarLogitsProcessor([compiled, compiled])
    start = scored(processor, [[3], [3]], tiny.vocab_size)
    wrong = next(token for token in range(tiny.vocab_size) if token not in start[1])
    with pytest.raises(ValueError, match="forbids"):
        scored(processor, [[3, start[0][0]], [3, wrong]], tiny.vocab_size)
    # Rows no longer than the prompt would begin anew.
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_token(start[0][-1])
    after = scored(processor, [[3, start[0][-1]], [3, start[0][-1]]], tiny.vocab_size)
    assert after == 2 * [matcher.allowed_token_ids()]


def test_scores_that_are_not_plain_cpu_memory(tiny: LanguageModel) -> None:
    """The path of a GPU, which scores with a gradient take too: the same masks, kept between steps; wider scores."""
    compiled = [tiny.compiler.compile_grammar(text) for text in (DIGITS, WORDS)]
    plain, kept = GrammarLogitsProcessor(compiled), GrammarLogitsProcessor(compiled)
    prompt = torch.ones(2, 4, dtype=torch.int64)
    tokens: list[list[int]] = [[], []]
    width = tiny.tokenizer.info.vocab_size + 40
    generator = torch.Generator().manual_seed(3)
    for _ in range(12):
        seen = torch.cat([prompt, torch.tensor(tokens, dtype=torch.int64)], dim=1)
        scores = torch.randn(2, width, generator=generator)
        expected = plain(seen, scores)
        found = kept(seen, scores.clone().requires_grad_())
        assert torch.equal(found.detach(), expected)
        for row, token in zip(tokens, expected.argmax(dim=1).tolist(), strict=True):
            row.append(token)
    assert kept._kept is not None
    stats = kept._kept.stats()
    assert stats.steps == 12
    assert 0 < stats.fills < 24
