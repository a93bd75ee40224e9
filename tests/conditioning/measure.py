"""How far each method's texts are from the model's own: `python -m tests.conditioning.measure [repeats] [model]`.

Five small languages behind prompts that a small model knows.  The judge is `exact`; what masking draws is summed over
all tokenisations, too, so its distance has no noise.  Distances are total variations over texts; forwards are prefixes
that the model read, of one run, in a tree of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from workbench.conditioning.drawing import log_sum_exp
from workbench.conditioning.language import Language
from workbench.conditioning.methods import sample
from workbench.conditioning.samples import Samples, total_variation
from workbench.conditioning.tree import PrefixTree
from workbench.conditioning.walk import Walk
from workbench.generation import LanguageModel, load_model
from workbench.generation.loop import matcher_for


class Case(NamedTuple):
    """A prompt, and a grammar of what may follow."""

    name: str
    prompt: str
    grammar: str


def _choice(*texts: str) -> str:
    return "root ::= " + " | ".join('"' + text.replace('"', '\\"') + '"' for text in texts)


CASES = (
    Case("barks", "Q: Which animal barks?\nA:", _choice(" dogs", " cats", " a dog", " wolves", " the dog")),
    Case("sky", "Q: Is the sky blue?\nA:", _choice(" Yes", " No", " yes", " no", " Maybe")),
    Case("colour", "My favourite colour is", _choice(" red", " green", " blue", " lilac", " a red")),
    Case("country", '{"city": "Paris", "country": "', _choice('France"}', 'Gaul"}', 'FR"}', 'UK"}')),
    Case("days", "Monday, Tuesday,", _choice(" Wed", " Friday", " Monday", " Wednesday", " Sunday")),
)
WIDE = Case("degrees", "The temperature in Lund is", 'root ::= " " "-"? [1-9] [0-9]? " C"')
"""Some 200 texts, many of them about as likely as each other: 200 draws from the target itself are far from it, too."""


def masked_distribution(model: LanguageModel, prompt: str, grammar: Any, max_tokens: int = 20) -> dict[str, float]:
    """What masking token by token draws, summed over all tokenisations."""
    tree = PrefixTree(model, model.encode_prompt(prompt, chat=False))
    language = Language(tree, matcher_for(model, grammar), max_tokens)
    walk = Walk(language)
    walk.run(0.0)
    found: dict[str, float] = {}
    for text, ends in walk.ends.items():
        for end in ends:
            log_prob, here = end.log_prob, end.parent
            while here is not None:
                log_prob -= log_sum_exp(language.choices(here)[1])
                here = here.parent
            found[text.decode()] = found.get(text.decode(), 0.0) + math.exp(log_prob)
    return found


def pooled(runs: list[Samples]) -> dict[str, float]:
    """The distribution of all runs together: each weighs as much as its estimate of the evidence."""
    found: dict[str, float] = {}
    for run in runs:
        total = log_sum_exp(run.log_weights) if len(run) else -math.inf
        share = math.exp(run.log_evidence - total) if len(run) else 0.0
        for text, log_weight in zip(run.texts, run.log_weights, strict=True):
            found[text] = found.get(text, 0.0) + share * math.exp(log_weight)
    whole = sum(found.values())
    return {text: value / whole for text, value in found.items()}


def main(repeats: int = 20, name: str = "smollm2") -> None:
    torch.set_num_threads(1)
    model = load_model(name)
    methods: dict[str, Callable[[Case, int], Samples]] = {
        "local, 200 draws": lambda case, seed: _sample(model, case, seed, method="local", n=200),
        "asap, 200 draws": lambda case, seed: _sample(model, case, seed, method="asap", n=200),
        "cars, 200 draws": lambda case, seed: _sample(model, case, seed, method="cars", n=200),
        "smc, 32 particles": lambda case, seed: _sample(model, case, seed, method="smc", particles=32),
        "smc, 128 particles": lambda case, seed: _sample(model, case, seed, method="smc", particles=128),
        "smc, 8 particles": lambda case, seed: _sample(model, case, seed, method="smc", particles=8),
        "smc by ess, 32 p.": lambda case, seed: _sample(
            model, case, seed, method="smc", particles=32, resampling="ess"
        ),
        "awrs, 32 particles": lambda case, seed: _sample(model, case, seed, method="awrs", particles=32),
    }
    print(
        f"{name}, {repeats} runs each: total variation of one run (mean, worst), of all pooled; forwards, attempts of "
        "a run; log p(language)"
    )
    for case in (*CASES, WIDE):
        exact = _sample(model, case, 0, method="exact")
        truth = exact.distribution()
        masked = total_variation(masked_distribution(model, case.prompt, case.grammar), truth)
        print(f"{case.name}: exact log p {exact.log_evidence:.3f}, {exact.forwards} forwards; masking {masked:.3f}")
        chance = [total_variation(_counted(exact.draw(200, seed=seed)), truth) for seed in range(repeats)]
        print(f"  200 draws of exact   {np.mean(chance):.3f} {max(chance):.3f}")
        for told, method in methods.items():
            runs = [method(case, seed) for seed in range(repeats)]
            apart = [run.total_variation(truth) for run in runs]
            evidence = log_sum_exp(np.array([run.log_evidence for run in runs])) - math.log(repeats)
            print(
                f"  {told:20} {np.mean(apart):.3f} {max(apart):.3f} pooled {total_variation(pooled(runs), truth):.3f}  "
                f"forwards {np.mean([run.forwards for run in runs]):.0f}  log p {evidence:.3f} "
                f"attempts {np.mean([run.attempts for run in runs]):.0f}  "
                f"checks {np.mean([run.checks for run in runs]):.0f}",
                flush=True,
            )


def _counted(texts: list[str]) -> dict[str, float]:
    return {text: texts.count(text) / len(texts) for text in texts}


def _sample(model: LanguageModel, case: Case, seed: int, **options: Any) -> Samples:
    return sample(model, case.prompt, case.grammar, seed=seed, max_tokens=20, chat=False, **options)


if __name__ == "__main__":
    main(*(int(sys.argv[1]),) if len(sys.argv) > 1 else (), *sys.argv[2:3])
