"""`compile_output`: whatever describes an output, compiled for a vocabulary, and what there is to warn of.

Read on: `source.py`, `warnings.py`.
"""

from __future__ import annotations

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler
from kernels_core.compiler import told_elsewhere
from kernels_core.errors import TokenizerError
from workbench.languages.source import Source
from workbench.languages.warnings import warn_of


def compile_output(anything: object, compiler: GrammarCompiler, *, for_a_model: bool = False) -> CompiledGrammar:
    """Whatever describes an output (`Source.of`), compiled by `compiler`, with a `GrammarWarning` for each keyword that
    looks misspelt, and for each note of the engine; for_a_model: as `Source.for_a_model` has it.

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
    source = Source.of(anything)
    if isinstance(anything, Grammar):
        with told_elsewhere():
            made = compiler.compile_grammar(anything)
    else:
        made = (source.for_a_model() if for_a_model else source).compile(compiler)
    warn_of(source, made.grammar)
    return made
