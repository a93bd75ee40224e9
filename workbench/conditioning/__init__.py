"""The model given the language: texts drawn from p(text | text in the language), and the probabilities of texts.

    from workbench.conditioning import probability, sample

    sample(model, "Q: Which animal barks?", 'root ::= " dogs" | " cats"', method="smc", seed=1)
    probability(model, "Is the sky blue?", ["yes", "no"])["yes"]

A mask forbids tokens; it does not ask whether the text that a token begins is one the model would write.  So what is
drawn under masks is not what the model would have written had it kept to the language.  What is here draws that.

Names are loaded on first use, because torch is heavy.
Code map, in reading order: `tree` (prefixes that the model has read), `language` (a grammar, or a list of texts, on
the tree), `walk` (sums over it), `probabilities`; `attempts` (texts drawn one by one), `distinct` and
`particles` (texts drawn together), over `drawing`; `methods` (`sample`), `samples` and
`genealogy` (what it returns), `figures`; `leaves` (the parts of one answer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench.conditioning.leaves import confidences
    from workbench.conditioning.methods import METHODS, sample
    from workbench.conditioning.probabilities import Probabilities, probability
    from workbench.conditioning.samples import Samples

__all__ = [
    "METHODS",
    "Probabilities",
    "Samples",
    "confidences",
    "probability",
    "sample",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    extras={"torch", "transformers", "safetensors"},
    cure="pip install 'maskscope[generate]' (on a machine without a GPU with -c constraints.txt, so that no CUDA "
    "packages come along)",
)
