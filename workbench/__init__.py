"""The person's side of Maskscope: tokenizers, sessions, the explorer, generation.

    import workbench as wb

    session = wb.Session('root ::= "yes" | "no"', "tekken")    # a grammar, a tokenizer, a place in a text
    session.step("y").allowed_tokens()                          # what may come next
    wb.explore(session)                                         # the same, live

Names are loaded on first use, so `import workbench` is quick and needs none of the heavy libraries.  In a notebook the
import also makes the engine's snapshots display themselves.

Code map, in reading order: `languages` (any input language, in its own words), `history` (the tape), `reading` (what
became of a text), `session`, `trace` (a recorded run), `desk` and `explorer` (the panel), `tokenizers`, `generation`,
`conditioning` (the model given a language), `comparing` and `peers` (other engines beside ours), `compat` (as other
libraries speak), `cli`.
"""

from __future__ import annotations

import sys
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
    from workbench.comparing import Comparison, Finding, Hunt, compare, hunt
    from workbench.conditioning import Probabilities, Samples, confidences, probability, sample
    from workbench.explorer import Explorer, explore
    from workbench.generation import (
        Generation,
        LanguageModel,
        SideBySide,
        generate,
        generate_side_by_side,
        load_model,
    )
    from workbench.languages import Source
    from workbench.observatory import Caches, caches
    from workbench.opened import last
    from workbench.reading import Candidate, Reading, StepError
    from workbench.session import Session
    from workbench.tokenizers import Tokenizer, load_tokenizer
    from workbench.trace import Trace

__all__ = [
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
    "Samples",
    "Session",
    "SideBySide",
    "Source",
    "StepError",
    "Tokenizer",
    "TokenizerInfo",
    "Trace",
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
    "sample",
]

_HOMES = {
    "AllDifferent": "kernels_core",
    "Caches": "workbench.observatory",
    "Candidate": "workbench.reading",
    "Comparison": "workbench.comparing",
    "CompiledGrammar": "kernels_core",
    "DeclaredBefore": "kernels_core",
    "Explorer": "workbench.explorer",
    "Finding": "workbench.comparing",
    "Generation": "workbench.generation",
    "Grammar": "kernels_core",
    "GrammarCompiler": "kernels_core",
    "GrammarMatcher": "kernels_core",
    "Hunt": "workbench.comparing",
    "LanguageModel": "workbench.generation",
    "OneOf": "kernels_core",
    "Options": "kernels_core",
    "Predicate": "kernels_core",
    "Probabilities": "workbench.conditioning",
    "Reading": "workbench.reading",
    "Samples": "workbench.conditioning",
    "Session": "workbench.session",
    "SideBySide": "workbench.generation",
    "Source": "workbench.languages",
    "StepError": "workbench.reading",
    "Tokenizer": "workbench.tokenizers",
    "TokenizerInfo": "kernels_core",
    "Trace": "workbench.trace",
    "caches": "workbench.observatory",
    "compare": "workbench.comparing",
    "confidences": "workbench.conditioning",
    "explore": "workbench.explorer",
    "generate": "workbench.generation",
    "generate_side_by_side": "workbench.generation",
    "hunt": "workbench.comparing",
    "last": "workbench.opened",
    "load_model": "workbench.generation",
    "load_tokenizer": "workbench.tokenizers",
    "probability": "workbench.conditioning",
    "sample": "workbench.conditioning",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, cure="pip install 'maskscope[workbench]'")


def _register_formatters() -> None:
    """Inside IPython, snapshots and grammars get their displays; elsewhere nothing is imported."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        from visualizers import formatters

        formatters.register()


_register_formatters()
