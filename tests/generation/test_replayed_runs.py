"""A run of our own, replayed: what its records say, a replay says without its model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import workbench as wb  # noqa: E402
from experiments.demo_model import GRAMMAR_FILE  # noqa: E402
from workbench.generation import LanguageModel  # noqa: E402


def test_a_constrained_run_is_taken_and_its_mass_lies_between_the_bounds(demo: LanguageModel) -> None:
    grammar = GRAMMAR_FILE.read_text()
    made = wb.generate(demo, "weather in Lund", grammar, seed=6, alternatives=8)
    found = wb.replay(made, grammar, demo)
    assert found.died is None
    assert found.complete
    for step, known in zip(found, made.steps, strict=True):
        assert step.favourite_refused == known.rejected_favourite
        assert step.least_mass - 1e-6 <= known.feasible_mass <= step.most_mass + 1e-6
        assert step.allowed_count == known.allowed_count


def test_a_free_run_dies_where_the_grammar_would_have_refused_it(demo: LanguageModel) -> None:
    grammar = GRAMMAR_FILE.read_text()
    died = 0
    for seed in range(8):
        made = wb.generate(demo, "weather in Lund", seed=seed, max_tokens=60)
        found = wb.replay(made, grammar, demo)
        matcher = demo.compiler.compile_grammar(grammar)
        reader = wb.GrammarMatcher(matcher)
        taken = 0
        while taken < len(made) and reader.accept_token(made.tokens[taken]):
            taken += 1
        died += found.died is not None
        assert (found.died.index if found.died is not None else len(made)) == taken
    assert died


def test_a_run_as_events(demo: LanguageModel, tmp_path: Path) -> None:
    made = wb.generate(demo, "weather in Lund", GRAMMAR_FILE.read_text(), seed=6)
    events = json.loads(made.to_chrome_trace(tmp_path / "run.json").read_text())["traceEvents"]
    spent = sum(event["dur"] for event in events if event["ph"] == "X" and event["tid"] == 1)
    assert spent == pytest.approx(sum(step.model_ns for step in made.steps) / 1e3)
