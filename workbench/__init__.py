"""The person's side of Maskscope: tokenizers, sessions, the explorer, generation.

    import workbench as wb

    session = wb.Session('root ::= "yes" | "no"', "tekken")    # a grammar, a tokenizer, a place in a text
    session.step("y").inspect.allowed_tokens()                  # what may come next
    wb.explore(session)                                         # the same, live

Names are loaded on first use, so `import workbench` is quick and needs none of the heavy libraries.  The import also
makes the engine's snapshots display themselves, in a notebook of any kind.

Code map, in reading order: `languages` (any input language, in its own words), `tokenizers`, `session` (a place in a
text), `provenance` and `next` (where it comes from, what may come), `generation` (a model in the loop), `conditioning`
(the model given a language), `replaying` (answers that others have logged), `reports` (runs, drawn, and what took the
probability), `screen`, `panels` and `explorer` (what is seen and moved), `comparing` and `peers` (other engines beside
ours), `compat` (as other libraries speak), `serving`, `cli`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from kernels_core import (
        AllDifferent,
        CompiledGrammar,
        DeclaredBefore,
        Grammar,
        GrammarCompiler,
        GrammarMatcher,
        OneOf,
        Options,
        Predicate,
        TokenizerInfo,
    )
    from workbench.comparing import Ablation, Comparison, Finding, Hunt, ablate, compare, hunt
    from workbench.conditioning import Probabilities, Samples, confidences, probability, sample
    from workbench.explorer import Explorer, explore, last
    from workbench.generation import (
        Generation,
        LanguageModel,
        SideBySide,
        generate,
        generate_side_by_side,
        load_model,
    )
    from workbench.languages import Source
    from workbench.replaying import Replayed, replay
    from workbench.reports.blame import blame
    from workbench.reports.caches import Caches, caches
    from workbench.session import Session
    from workbench.session.result import Candidate, Reading, StepError
    from workbench.session.trace import Trace
    from workbench.tokenizers import Tokenizer, load_tokenizer

__all__ = [
    "Ablation",
    "AllDifferent",
    "Caches",
    "Candidate",
    "Comparison",
    "CompiledGrammar",
    "DeclaredBefore",
    "Explorer",
    "Finding",
    "Generation",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "Hunt",
    "LanguageModel",
    "OneOf",
    "Options",
    "Predicate",
    "Probabilities",
    "Reading",
    "Replayed",
    "Samples",
    "Session",
    "SideBySide",
    "Source",
    "StepError",
    "Tokenizer",
    "TokenizerInfo",
    "Trace",
    "ablate",
    "blame",
    "caches",
    "compare",
    "confidences",
    "explore",
    "generate",
    "generate_side_by_side",
    "hunt",
    "last",
    "load_model",
    "load_tokenizer",
    "probability",
    "replay",
    "sample",
]

__getattr__, __dir__ = lazy_names(__name__, cure="pip install 'maskscope[workbench]'")


def __maskscope_displays__() -> None:  # noqa: N807  (see kernels_core/display.py)
    """Snapshots, grammars, runs and sessions display themselves."""
    from workbench.reports.displays import register_all

    register_all()
