"""The engine of Maskscope: grammar-constrained decoding on interned Earley sets.

    from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo, allocate_token_bitmask

    info = TokenizerInfo([b"a", b"b", b"ab", b"</s>"], stop_token_ids=[3])
    compiled = GrammarCompiler(info).compile_grammar('root ::= "a" "b"*')
    matcher = GrammarMatcher(compiled)
    bitmask = allocate_token_bitmask(1, info.vocab_size)
    matcher.fill_next_token_bitmask(bitmask)        # bit i of row 0: may token i come next?

Needs numpy alone; torch tensors are welcome, torch is not imported.  Data flows one way:
`grammar` -> `automata` -> `earley` -> `masks` -> `compiler` / `matcher`; `inspect` looks at all of them.
"""

from kernels_core import _freshness

_freshness.check()

from kernels_core.batch import BatchGrammarMatcher, apply_masks_inplace  # noqa: E402
from kernels_core.clock import CancelToken, TimeLimit  # noqa: E402
from kernels_core.compiled import CompiledGrammar  # noqa: E402
from kernels_core.compiler import GrammarCompiler  # noqa: E402
from kernels_core.errors import (  # noqa: E402
    BudgetExceededError,
    DeadEndError,
    GrammarError,
    GrammarNote,
    GrammarSyntaxError,
    GrammarWarning,
    InvalidStructuralTagError,
    MaskscopeError,
    MatcherTerminatedError,
    OperationCancelledError,
    PoolFileError,
    PredicateError,
    SchemaProblem,
    TokenizerError,
    TooFewTokensError,
    UnsupportedFeatureError,
    UnsupportedSchemaError,
)
from kernels_core.grammar import Grammar  # noqa: E402
from kernels_core.grammar.predicates import AllDifferent, DeclaredBefore, OneOf, Predicate  # noqa: E402
from kernels_core.masks.bitmask import (  # noqa: E402
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    bitmask_dtype,
    get_bitmask_shape,
    reset_token_bitmask,
)
from kernels_core.matcher import GrammarMatcher  # noqa: E402
from kernels_core.options import Options  # noqa: E402
from kernels_core.tokens import TokenizerInfo, VocabType  # noqa: E402

__version__ = "0.2.0"

__all__ = [
    "AllDifferent",
    "BatchGrammarMatcher",
    "BudgetExceededError",
    "CancelToken",
    "CompiledGrammar",
    "DeadEndError",
    "DeclaredBefore",
    "Grammar",
    "GrammarCompiler",
    "GrammarError",
    "GrammarMatcher",
    "GrammarNote",
    "GrammarSyntaxError",
    "GrammarWarning",
    "InvalidStructuralTagError",
    "MaskscopeError",
    "MatcherTerminatedError",
    "OneOf",
    "OperationCancelledError",
    "Options",
    "PoolFileError",
    "Predicate",
    "PredicateError",
    "SchemaProblem",
    "TimeLimit",
    "TokenizerError",
    "TokenizerInfo",
    "TooFewTokensError",
    "UnsupportedFeatureError",
    "UnsupportedSchemaError",
    "VocabType",
    "allocate_token_bitmask",
    "apply_masks_inplace",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "get_bitmask_shape",
    "reset_token_bitmask",
]
