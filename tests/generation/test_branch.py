"""Going on from any step, side by side, and what a generation records for people."""

from __future__ import annotations

import math
import pickle

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from kernels_core import GrammarMatcher  # noqa: E402
from workbench.generation import BeginningError, LanguageModel, generate, stream  # noqa: E402

PAIRS = r"""
root  ::= "{" pair ("," pair){0,2} "}"
pair  ::= "\"" [a-zé]{1,3} "\":" value
value ::= [0-9]{1,3} | "true" | "null" | "[" (value ("," value){0,2})? "]" | root
"""


@pytest.fixture(scope="module")
def run(tiny: LanguageModel) -> wb.Generation:
    return generate(tiny, "the fox", PAIRS, seed=3, max_tokens=60, temperature=1.2)


class TestBranch:
    @pytest.mark.parametrize("step", [0, 1, 5, 12])
    def test_without_an_edit_the_same_text_comes_again(self, run: wb.Generation, step: int) -> None:
        again = run.branch(step)
        assert again.tokens == run.tokens
        assert again.steps[:step] == run.steps[:step]
        assert again.finish_reason == run.finish_reason

    def test_another_seed_keeps_the_beginning(self, run: wb.Generation) -> None:
        others = [run.branch(6, seed=seed) for seed in range(4)]
        assert all(other.tokens[:6] == run.tokens[:6] for other in others)
        assert len({other.tokens for other in others}) > 1

    def test_an_edit_comes_in_place_of_the_token(self, run: wb.Generation) -> None:
        first = run.steps[0]
        other = run.branch(1, '"é":7')
        assert other.text.startswith(first.token.decode() + '"é":7')
        given = [step for step in other.steps if step.given]
        assert b"".join(step.token for step in given) == '"é":7'.encode()
        assert all(step.logprob < 0 and step.entropy is not None for step in given)
        reader = GrammarMatcher(run.source.model.compiler.compile_grammar(PAIRS))  # type: ignore[union-attr]
        assert reader.accept_string(other.text_bytes)

    def test_token_ids_and_bytes_are_edits_too(self, run: wb.Generation) -> None:
        token = run.steps[0].token_id
        assert run.branch(0, token).tokens[0] == token
        assert run.branch(0, [token]).tokens[0] == token
        assert run.branch(0, run.steps[0].token).text_bytes.startswith(run.steps[0].token)

    def test_a_branch_that_is_interrupted_at_once_is_empty(self, run: wb.Generation, tiny: LanguageModel) -> None:
        tokens = stream(tiny, "the fox", PAIRS, begin=run.beginning(3, "1"))
        tokens.interrupt()
        assert list(tokens) == []
        assert tokens.finish_reason == "interrupted"

    def test_what_the_grammar_refuses_is_an_error(self, run: wb.Generation) -> None:
        with pytest.raises(BeginningError, match=r"refuses the given token .* at step 2"):
            run.branch(1, "]")
        with pytest.raises(BeginningError, match="not a token id"):
            run.branch(1, 10**6)
        with pytest.raises(IndexError, match="outside the generation"):
            run.branch(len(run) + 1)

    def test_a_pickled_generation_has_no_model(self, run: wb.Generation) -> None:
        refusals = run.refusals
        again = pickle.loads(pickle.dumps(run))
        assert again == run
        assert again.refusals == refusals
        assert again.masks == run.masks
        with pytest.raises(ValueError, match="lost its model"):
            again.branch(1)


class TestRecord:
    def test_masks_are_one_for_each_token(self, run: wb.Generation) -> None:
        assert run.masks is not None
        assert [visit.event.step for visit in run.masks.visits][: len(run)] == list(range(len(run)))
        for step, visit in zip(run.steps, run.masks.visits, strict=False):
            assert step.fill == visit.event
            assert step.mask_ns == visit.event.nanoseconds

    def test_entropies_and_choices_are_the_distributions(self, tiny: LanguageModel, run: wb.Generation) -> None:
        read = list(run.prompt_tokens)
        matcher = GrammarMatcher(tiny.compiler.compile_grammar(PAIRS))
        for step in run.steps[:12]:
            with torch.no_grad():
                logits = tiny.model(torch.tensor([read])).logits[0, -1].double()
            probabilities = logits.softmax(-1)
            allowed = torch.tensor(matcher.allowed_token_ids())
            left = probabilities[allowed] / probabilities[allowed].sum()
            assert step.entropy == pytest.approx(-(probabilities * probabilities.log()).sum().item(), abs=1e-3)
            assert step.masked_entropy == pytest.approx(-(left * left.log()).sum().item(), abs=1e-3)
            assert [one.token_id for one in step.choices] == allowed[left.topk(len(step.choices)).indices].tolist()
            for one in step.choices:
                place = int((allowed == one.token_id).nonzero())
                assert step.masked_probability(one) == pytest.approx(left[place].item(), rel=1e-3, abs=1e-9)
            assert all(step.masked_probability(one) == 0 for one in step.refused)
            matcher.accept_token(step.token_id)
            read.append(step.token_id)

    def test_refusals_say_why(self, run: wb.Generation) -> None:
        refused = {(step.index, one.token_id) for step in run.steps for one in step.refused[:1]}
        assert refused
        assert refused <= set(run.refusals)
        assert all(run.refusals.values())

    def test_looking_for_reasons_does_not_touch_the_engine(self, tiny: LanguageModel) -> None:
        result = generate(tiny, "the fox", PAIRS, seed=5, max_tokens=20)
        compiled = tiny.compiler.compile_grammar(PAIRS)
        before = compiled.cache_stats()
        assert result.refusals
        assert compiled.cache_stats() == before

    def test_without_a_record_the_text_is_the_same(self, tiny: LanguageModel, run: wb.Generation) -> None:
        bare = generate(tiny, "the fox", PAIRS, seed=3, max_tokens=60, temperature=1.2, record=False)
        assert bare.tokens == run.tokens
        assert bare.masks is None
        assert all(step.entropy is None and not step.alternatives and not step.choices for step in bare.steps)

    def test_bits_and_clocks_are_in_the_frame(self, run: wb.Generation) -> None:
        frame = run.to_frame()
        assert {"entropy", "masked_entropy", "mask_kind", "apply_us", "record_us"} <= set(frame.columns)
        assert (frame["masked_entropy"] >= -1e-6).all()


class TestSideBySide:
    def test_runs_share_seed_and_part_where_they_differ(self, tiny: LanguageModel) -> None:
        side = wb.generate_side_by_side(tiny, "the fox", {"free": None, "pairs": PAIRS}, max_tokens=15)
        free, pairs = side["free"], side["pairs"]
        assert free.settings == pairs.settings
        at = side.parts_at("pairs")
        assert free.tokens[:at] == pairs.tokens[:at]
        assert free.tokens[at : at + 1] != pairs.tokens[at : at + 1]
        assert side.to_frame()["parts_at"].tolist() == [len(free), at]
        assert "≠" in str(side)
        assert f"At step {at + 1}" in side._repr_html_()

    def test_the_same_grammar_twice_never_parts(self, tiny: LanguageModel) -> None:
        side = wb.generate_side_by_side(tiny, "fox", {"a": PAIRS, "b": PAIRS}, max_tokens=10, seed=1)
        assert side.parts_at("b") == len(side["b"])
        assert "b writes the same as a." in str(side)

    def test_one_run_has_no_side(self, tiny: LanguageModel) -> None:
        with pytest.raises(ValueError, match="at least two"):
            wb.generate_side_by_side(tiny, "fox", {"a": None})


class TestDisplays:
    def test_terminal_lines_fit_a_hundred_columns(self, run: wb.Generation) -> None:
        lines = str(run).splitlines()[1:]
        assert max(map(len, lines)) <= 100 + 10  # the two legend lines are sentences
        assert "removed %" in lines[0]
        assert all(len(line) <= 100 for line in lines if not line.startswith(("p:", "bits")))

    def test_caches_of_a_run_are_those_of_its_masks(self, run: wb.Generation) -> None:
        found = wb.caches(run)
        assert len(found.to_frame()) == len(run.masks or ())
        assert found.sharing is not None
        assert f"seed {run.settings['seed']}" in found.note
        assert "seed" in found.plot().layout.annotations[-1].text
        with pytest.raises(ValueError, match="no record of its masks"):
            wb.caches(generate(run.source.model, "fox", max_tokens=3))  # type: ignore[union-attr]
        with pytest.raises(TypeError, match="not of int"):
            wb.caches(3)

    def test_mass_and_entropy_cannot_grow_beyond_bounds(self, run: wb.Generation) -> None:
        assert all(0 < step.feasible_mass <= 1 for step in run.steps)
        assert all(0 <= (step.entropy or 0) <= math.log(run.source.model.vocab_size) for step in run.steps)  # type: ignore[union-attr]
