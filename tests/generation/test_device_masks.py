"""Masks in device memory: right in every slot at every time, and few bytes a step."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kernels_core import (  # noqa: E402
    BatchGrammarMatcher,
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    TokenizerInfo,
    apply_masks_inplace,
)
from kernels_core.mask_rows import MaskRows  # noqa: E402
from tests.engine import test_renewal as renewal  # noqa: E402
from tests.engine.driver import compiled  # noqa: E402
from tests.generation import mask_kernels  # noqa: E402
from tests.project.tree import ROOT  # noqa: E402
from workbench.generation.device_masks import DeviceMasks, apply_rows  # noqa: E402

TOKENS = 900
PADDED = 1000
MASK_BYTES = 4 * 32
SENT_FOR_A_MASK = MASK_BYTES + 8
TRITON = importlib.util.find_spec("triton") is not None


@pytest.fixture(scope="module")
def compiler() -> GrammarCompiler:
    """Tokens of which none begins another one, so that a grammar may allow any set of them."""
    vocabulary = [f"{number:03}".encode() for number in range(TOKENS - 1)] + [b"</s>"]
    return GrammarCompiler(TokenizerInfo(vocabulary, vocab_size=PADDED, stop_token_ids=[TOKENS - 1]))


def allowing(compiler: GrammarCompiler, random: Random, count: int) -> CompiledGrammar:
    """A grammar of two tokens: the first of a random set of `count`, the second any."""
    words = [f'"{number:03}"' for number in sorted(random.sample(range(TOKENS - 1), count))]
    return compiler.compile_grammar(f"root ::= ({' | '.join(words)}) [0-9]{{3}}")


def read(*matchers: GrammarMatcher | None) -> MaskRows:
    return BatchGrammarMatcher().read_masks(list(matchers))


def check(there: DeviceMasks, masks: MaskRows, slots: torch.Tensor) -> None:
    """The masks in `slots` are those that `masks` puts on logits on a CPU."""
    logits = torch.randn(len(masks), PADDED)
    expected = logits.clone()
    apply_masks_inplace(expected, masks)
    there.apply(logits, slots)
    assert torch.equal(logits, expected)


def test_the_kernel_in_torch_operations() -> None:
    assert mask_kernels.compare("torch", "cpu") > 100


@pytest.mark.skipif(not TRITON, reason="triton is not installed: pip install 'maskscope[gpu]'")
def test_the_kernel_in_triton_interpreted() -> None:
    command = [sys.executable, "-m", "tests.generation.mask_kernels", "triton", "cpu"]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "cases are equal" in done.stdout


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize(
    "kernel", ["torch", pytest.param("triton", marks=pytest.mark.skipif(not TRITON, reason="no Triton"))]
)
def test_the_kernels_on_a_gpu(kernel: str) -> None:
    assert mask_kernels.compare(kernel, "cuda") > 100


def test_a_step_of_known_masks_sends_four_bytes_a_row(compiler: GrammarCompiler) -> None:
    random = Random(1)
    grammars = [allowing(compiler, random, count) for count in (1, 40, 500, 880)]
    there = DeviceMasks(PADDED, "cpu")
    rows = [None if number % 5 == 4 else GrammarMatcher(grammars[number % 4]) for number in range(20)]
    masks = read(*rows)
    check(there, masks, there.slots(masks))
    first = there.stats()
    assert (first.fills, first.held, first.steps, first.rows) == (4, 4, 1, 20)
    assert first.last_bytes == 4 * 20 + 4 * SENT_FOR_A_MASK
    again = read(*rows)
    check(there, again, there.slots(again))
    second = there.stats()
    assert second.last_bytes == 4 * 20
    assert second.number_bytes == 2 * 4 * 20
    assert second.mask_bytes == 4 * SENT_FOR_A_MASK == first.mask_bytes
    # 16 of these rows have a mask; sent as rows of bits they would take:
    assert second.last_bytes < 16 * MASK_BYTES / 20


def test_some_of_the_rows(compiler: GrammarCompiler) -> None:
    random = Random(2)
    rows = [GrammarMatcher(allowing(compiler, random, count)) for count in (3, 300, 7)]
    masks = read(rows[0], None, *rows[1:])
    there = DeviceMasks(PADDED, "cpu")
    slots = there.slots(masks, [3, 1, 0])
    assert slots.dtype == torch.int32
    assert slots.tolist()[1] == -1
    assert there.stats().held == 2
    logits = torch.zeros(3, PADDED)
    there.apply(logits, slots)
    allowed = torch.isfinite(logits).sum(dim=1).tolist()
    assert allowed == [7, PADDED, 3]


def test_masks_that_were_used_longest_ago_give_way(compiler: GrammarCompiler) -> None:
    """More masks than slots, in random order: each step's are right, and none of a step pushes another one out."""
    random = Random(3)
    grammars = [allowing(compiler, random, random.randint(1, 880)) for _ in range(12)]
    there = DeviceMasks(PADDED, "cpu", max_bytes=5 * MASK_BYTES + 7)
    assert there.capacity == 5
    assert there.stats().nbytes == 5 * MASK_BYTES
    last: dict[int, int] = {}
    for step in range(60):
        chosen = [random.randrange(12) for _ in range(random.randint(1, 5))]
        masks = read(*(GrammarMatcher(grammars[number]) for number in chosen))
        before = there.stats()
        check(there, masks, there.slots(masks))
        # Which were there: the five that were used last.
        newest = sorted(last, key=last.__getitem__, reverse=True)
        certain = {number for number in newest if last[number] > _fifth(last)}
        assert there.stats().fills - before.fills <= len(set(chosen) - certain)
        last |= dict.fromkeys(chosen, step)
    stats = there.stats()
    assert stats.held == 5
    assert stats.evictions == stats.fills - 5 > 0


def _fifth(last: dict[int, int]) -> int:
    """The step before which a mask may have lost its slot."""
    steps = sorted(last.values(), reverse=True)
    return steps[4] if len(steps) > 4 else -1


def test_too_many_masks_change_nothing(compiler: GrammarCompiler) -> None:
    random = Random(4)
    grammars = [allowing(compiler, random, 10) for _ in range(3)]
    there = DeviceMasks(PADDED, "cpu", max_bytes=2 * MASK_BYTES)
    few = read(*(GrammarMatcher(grammar) for grammar in grammars[:2]))
    there.slots(few)
    before = there.stats()
    with pytest.raises(ValueError, match="3 different masks in one step, and room for 2"):
        there.slots(read(*(GrammarMatcher(grammar) for grammar in grammars)))
    assert there.stats() == before
    check(there, few, there.slots(few))
    assert there.stats().fills == before.fills


def test_a_number_that_is_used_again_means_another_mask(compiler: GrammarCompiler) -> None:
    """Grammars begin to number their masks anew, and a forgotten one's memory is given to the next."""
    random = Random(5)
    there = DeviceMasks(PADDED, "cpu")
    numbers, keys = set(), set()
    for count in range(1, 40):
        matcher = GrammarMatcher(allowing(compiler, random, count))
        masks = read(matcher)
        numbers.add(matcher.mask_number())
        keys.add(int(masks.keys()[0]))
        check(there, masks, there.slots(masks))
        del masks, matcher
    assert len(numbers) == 1
    assert len(keys) == 39


def test_parser_states_that_are_made_anew() -> None:
    """Past its budget a grammar has new parser states, masks and numbers, in the middle of a text."""
    grammar = compiled(Grammar.from_ebnf(renewal.SOURCE), renewal.WORDS, renewal.OPTIONS["default"])
    matcher, random = GrammarMatcher(grammar), Random(8)
    there = DeviceMasks(len(renewal.WORDS) + 1, "cpu")
    caches, number = set(), 0
    while len(caches) < 3:
        number += 1
        assert number < 20_000
        masks = read(matcher)
        caches.add(int(masks.keys()[0]) >> 32)
        if number % 20 == 0 or len(caches) > 1:
            logits = torch.zeros(1, len(renewal.WORDS) + 1)
            there.apply(logits, there.slots(masks))
            assert logits[0].isfinite().nonzero().flatten().tolist() == matcher.allowed_token_ids()
        tokens = [token for token in matcher.allowed_token_ids() if token < len(renewal.WORDS)]
        if not tokens or matcher.num_steps > 90:
            matcher.reset()
        else:
            assert matcher.accept_token(random.choice(tokens))


def test_what_does_not_fit(compiler: GrammarCompiler) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        DeviceMasks(0, "cpu")
    with pytest.raises(ValueError, match="a mask of 128 bytes"):
        DeviceMasks(PADDED, "cpu", max_bytes=100)
    with pytest.raises(ValueError, match="kernel must be"):
        DeviceMasks(PADDED, "cpu", kernel="cuda")  # type: ignore[arg-type]
    there = DeviceMasks(PADDED - 32, "cpu")
    masks = read(GrammarMatcher(allowing(compiler, Random(6), 5)))
    with pytest.raises(ValueError, match="masks over 1,000 ids, where 968 are kept"):
        there.slots(masks)
    assert there.stats().steps == 0
    there = DeviceMasks(PADDED, "cpu")
    slots = there.slots(masks)
    for logits, reason in (
        (torch.zeros(PADDED), "2 axes"),
        (torch.zeros(1, PADDED, dtype=torch.int32), "floating"),
        (torch.zeros(2, PADDED), "for 2 rows"),
        (torch.zeros(1, PADDED, device="meta"), "logits on meta"),
    ):
        with pytest.raises(ValueError, match=reason):
            there.apply(logits, slots)
    with pytest.raises(ValueError, match="int64"):
        there.apply(torch.zeros(1, PADDED), slots.long())


def test_it_says_what_it_runs_by(monkeypatch: pytest.MonkeyPatch) -> None:
    there = DeviceMasks(PADDED, "cpu")
    assert (there.kernel, there.reason) == ("torch", "torch operations, since cpu is no GPU that Triton compiles for")
    assert "0 of 524,288 slots on cpu, by torch operations" in repr(there)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ValueError, match="TRITON_INTERPRET=1"):
        DeviceMasks(PADDED, "cpu", kernel="triton")
    if not TRITON:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
        with pytest.raises(ModuleNotFoundError, match=r"maskscope\[gpu\]"):
            DeviceMasks(PADDED, "cpu", kernel="triton")


def test_rows_of_bits_by_the_same_kernel(compiler: GrammarCompiler) -> None:
    random = Random(9)
    masks = read(*(GrammarMatcher(allowing(compiler, random, count)) for count in (2, 700)))
    bits = np.zeros((2, 32), dtype=np.int32)
    masks.write(bits, np.arange(2))
    logits = torch.randn(2, PADDED)
    expected = logits.clone()
    apply_masks_inplace(expected, masks)
    apply_rows(logits, torch.from_numpy(bits))
    assert torch.equal(logits, expected)


def test_keys_of_rows_without_a_mask(compiler: GrammarCompiler) -> None:
    matcher = GrammarMatcher(allowing(compiler, Random(7), 5))
    ended = GrammarMatcher(compiler.compile_grammar('root ::= "001"'))
    assert ended.accept_token(1)
    assert ended.accept_token(TOKENS - 1)
    keys = read(None, matcher, ended).keys()
    assert keys.dtype == np.int64
    assert (keys >= 0).tolist() == [False, True, False]


def test_warming_up_sends_and_counts_nothing() -> None:
    kept = DeviceMasks(1000, "cpu")
    before = kept.stats()
    kept.warm_up(torch.float32, torch.bfloat16)
    assert kept.stats() == before
