"""`compile_output`: whatever describes an output, compiled for a vocabulary, and what there is to warn of.

Read on: `source.py`, `warnings.py`.
"""

from __future__ import annotations

import sys
import warnings

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarNote, GrammarWarning
from kernels_core.errors import TokenizerError
from workbench.languages.source import Source

__all__ = ["compile_output"]


def compile_output(
    anything: object, compiler: GrammarCompiler, language: str | None = None, *, for_a_model: bool = False
) -> CompiledGrammar:
    """Whatever describes an output (`Source.of`), compiled by `compiler`; for_a_model: as `Source.for_a_model` has it,
    with a `GrammarWarning` for an example in place of a schema, each keyword that looks misspelt, and
    each note of the engine.

    A `Grammar` stays as it was made.  A `CompiledGrammar` is handed back; `TokenizerError` where it was compiled for
    another vocabulary.
    """
    if isinstance(anything, CompiledGrammar):
        theirs, ours = anything.tokenizer_info, compiler.tokenizer_info
        if theirs.fingerprint != ours.fingerprint and theirs.decoded_vocab != ours.decoded_vocab:
            raise TokenizerError(
                f"the grammar was compiled for another vocabulary ({theirs!r}) than this one ({ours!r}); "
                "compile it for that, or pass the Grammar itself"
            )
        return anything
    if isinstance(anything, Grammar):
        return compiler.compile_grammar(anything)
    source = Source.of(anything, language)
    if not for_a_model:
        return source.compile(compiler)
    # Importing it keeps quiet what the engine says to this package: it is said to the caller here.
    from workbench.languages.sample import example_given
    from workbench.languages.warnings import misspelt

    made = source.for_a_model().compile(compiler)
    notes = [one for one in made.grammar.warnings if isinstance(one, GrammarNote)]
    for one in (*filter(None, [example_given(source)]), *misspelt(source), *notes):
        warnings.warn(f"{source.title}, {one}", GrammarWarning, stacklevel=_outside())
    return made


def _outside() -> int:
    """How many frames up the caller of this package is, whom a warning is for."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("workbench."):
        frame, level = frame.f_back, level + 1
    return level
