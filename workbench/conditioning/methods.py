"""`wb.sample`: texts from a model under a grammar, distributed as the model's own texts that are in the language.

    drawn = wb.sample(model, "Q: Which animal barks?", 'root ::= " dogs" | " cats"', method="smc", seed=1)
    drawn.distribution(); drawn.ess; drawn.log_evidence; drawn.plot_genealogy()

Read on: `attempts.py` (`local`, `rejection`, `asap`, `cars`), `distinct.py` (`smc`), `particles.py` (`smc` with
resampling="ess", and `awrs`), `walk.py` (`exact`), `samples.py` (what is returned).
"""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from workbench.conditioning.attempts import Attempts
from workbench.conditioning.distinct import DistinctParticles
from workbench.conditioning.language import Language
from workbench.conditioning.outcome import Outcome
from workbench.conditioning.particles import Particles
from workbench.conditioning.samples import Samples
from workbench.conditioning.tree import OutOfForwardsError, PrefixTree
from workbench.conditioning.walk import Walk
from workbench.generation.loop import matcher_for

if TYPE_CHECKING:
    from workbench.generation.loop import Constraint
    from workbench.generation.model import LanguageModel, Prompt

Method = Literal["local", "rejection", "asap", "cars", "awrs", "smc", "exact"]
METHODS: Final[dict[str, str]] = {
    "local": "masks token by token, and weighs each text by the product of its feasible masses",
    "rejection": "draws freely, and keeps what is in the language",
    "asap": "masks, and learns behind which prefixes probability was lost",
    "cars": "draws freely, learns behind which prefixes probability was lost, and keeps what is in the language",
    "awrs": "particles that draw their tokens by rejection, without masks",
    "smc": "particles under masks, weighed by feasible mass, of which those that weigh little are thinned",
    "exact": "sums over all texts",
}


def sample(
    model: LanguageModel,
    prompt: Prompt,
    grammar: Constraint,
    *,
    n: int | None = None,
    method: Method = "smc",
    particles: int = 32,
    seed: int | None = None,
    max_tokens: int = 256,
    temperature: float = 1.0,
    max_forwards: int = 10_000,
    resampling: Literal["distinct", "ess"] = "distinct",
    resample_below: float = 0.5,
    tolerance: float = 1e-6,
    chat: bool | None = None,
) -> Samples:
    """Draw texts of a language as the model would write them: from p(text | text in the language).

    A text is in the language if the grammar takes it, it has at most `max_tokens` tokens, and a stop token comes next;
    p is the model's probability of these tokens, at `temperature`.  Masking token by token draws from another
    distribution, since it never asks whether what it begins with can go on as the model would.

    Parameters
    ----------
    model, prompt, chat
        As of `generate`.
    grammar
        What describes an output: as of `generate`.
    n
        How many texts (None: 32).  `smc` and `awrs` make as many runs as have so many particles together (None: one
        run), and from two runs on their error is that between runs.  `exact` has each text once, with its probability
        as weight, however many there are.
    method
        "local", "rejection", "asap", "cars", "awrs", "smc" or "exact" (`METHODS` says what each does).
    particles
        Of one run of `smc` or `awrs`.
    seed
        Of the draws; None takes a random one, kept in the result's `settings`.
    max_forwards
        Prefixes that the model may read, and attempts that may be made.  Where that is not enough, the result holds
        what there is, and its `stopped` says so.
    resampling
        How `smc` comes from many particles to few.  "distinct": all particles are different, and what may follow them
        is thinned where it is more than `particles` (`distinct.py`).  "ess": each particle draws a token of its own,
        and where their effective sample size falls under `resample_below` they are drawn anew by weight, as others do
        it and as `awrs` always does (`particles.py`).
    resample_below
        A share of the particles; 0: they are never drawn anew.
    tolerance
        `exact` ends when what it has not looked at has at most this share of the probability of what it found.

    The kernel's stop button (KeyboardInterrupt) ends the draws and returns what there is; of texts that were being
    written side by side short ones have ended first, so these come too often then.

    Raises `ValueError` for settings that mean nothing, `ModelError` for a model whose texts cannot share a pass,
    `TokenizerError` where no stop token can end a text, and the errors of `generate` for a grammar, a vocabulary or a
    prompt that is not usable.
    """
    if method not in METHODS:
        raise ValueError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    if n is not None and n < 1:
        raise ValueError(f"n must be at least 1, not {n!r}")
    if particles < 1:
        raise ValueError(f"particles must be at least 1, not {particles!r}")
    if resampling not in ("distinct", "ess"):
        raise ValueError(f'resampling is "distinct" or "ess", not {resampling!r}')
    if not 0 <= resample_below <= 1:
        raise ValueError(f"resample_below must be from 0 to 1, not {resample_below!r}")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be at least 0 and below 1, not {tolerance!r}")
    seed = secrets.randbelow(2**32) if seed is None else seed
    tree = PrefixTree(model, model.encode_prompt(prompt, chat=chat), temperature=temperature, max_forwards=max_forwards)
    language = Language(tree, matcher_for(model, grammar), max_tokens)
    outcome = Outcome()
    settings: dict[str, object] = {
        "seed": seed,
        "max_tokens": language.max_tokens,
        "temperature": temperature,
        "max_forwards": max_forwards,
    }
    try:
        if method == "exact":
            settings["tolerance"] = tolerance
            _sum(language, outcome, tolerance)
        elif method in ("smc", "awrs"):
            runs = 1 if n is None else math.ceil(n / particles)
            settings |= {"particles": particles, "runs": runs}
            if method == "smc" and resampling == "distinct":
                settings["resampling"] = resampling
                DistinctParticles(language, outcome, runs, particles, seed).run()
            else:
                settings["resample_below"] = resample_below
                Particles(language, outcome, runs, particles, seed, method == "smc", resample_below).run()
        else:
            count = settings["n"] = 32 if n is None else n
            masks, learns = method in ("local", "asap"), method in ("asap", "cars")
            Attempts(language, outcome, count, seed, masks=masks, learns=learns).run()
    except OutOfForwardsError:
        outcome.stopped = "max_forwards"
    except KeyboardInterrupt:
        outcome.stopped = "interrupted"
    return Samples(
        method=method,
        texts=tuple(tree.text(end).decode(errors="backslashreplace") for end in outcome.ends),
        tokens=tuple(end.tokens for end in outcome.ends),
        log_weights=np.array(outcome.log_weights, dtype=np.float64),
        log_evidence=outcome.log_evidence,
        log_evidence_error=outcome.error,
        log_evidence_bounds=(outcome.least, max(outcome.least, outcome.most)),
        attempts=outcome.attempts,
        forwards=tree.forwards,
        passes=tree.passes,
        checks=outcome.checks,
        stopped=outcome.stopped,
        settings=settings,
        genealogy=outcome.genealogy,
    )


def _sum(language: Language, outcome: Outcome, tolerance: float) -> None:
    """Every text once, its weight the sum over its tokenisations."""
    walk = Walk(language)
    try:
        walk.run(tolerance)
    finally:
        for text, probability in walk:
            outcome.ends.append(max(walk.ends[text], key=lambda end: end.log_prob))
            outcome.log_weights.append(math.log(probability) if probability > 0 else -math.inf)
        whole = walk.bounds()
        outcome.attempts = len(outcome.ends)
        outcome.most = math.log(whole.upper) if whole.upper > 0 else -math.inf
        if whole > 0:
            outcome.log_evidence = math.log(whole)
            outcome.error = math.log(whole.upper) - math.log(whole)
