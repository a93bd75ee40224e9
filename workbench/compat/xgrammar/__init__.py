"""XGrammar's public interface, version 0.2.8, over this engine: `import workbench.compat.xgrammar as xgr`.

    import workbench.compat.xgrammar as xgr

    info = xgr.TokenizerInfo(["a", "b", "ab", "</s>"])
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "a" "b"*')
    matcher = xgr.GrammarMatcher(compiled)
    bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)
    matcher.fill_next_token_bitmask(bitmask)

Names, defaults and documented behaviour are XGrammar's; where that is known to be wrong, or the engine differs, the
page docs/compat-xgrammar.md says how.  What is not there raises `UnsupportedFeatureError` with its name.
torch, transformers and pydantic are imported when a name needs them.

`workbench.compat.stand_in.install()` serves all of this under the name `xgrammar`.

Code map, in reading order: `exception`, `base`, `config`, `serialization`, `tokenizer_info`, `tag_arguments`,
`grammar`, `compiler`, `bitmask`, `matcher`; then `structural_tag`, `openai_tool_call_schema`,
`builtin_structural_tag`, `testing`, `kernels`, `contrib`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names
from .compiler import CompiledGrammar, GrammarCompiler
from .config import get_max_recursion_depth, get_serialization_version, max_recursion_depth, set_max_recursion_depth
from .exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from .grammar import Grammar
from .matcher import (
    BatchGrammarMatcher,
    GrammarMatcher,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from .tokenizer_info import TokenizerInfo, VocabType

if TYPE_CHECKING:
    from . import exception, structural_tag, testing
    from .bitmask import bitmask_dtype
    from .builtin_structural_tag import (
        get_builtin_structural_tag,
        get_model_structural_tag,
        normalize_tool_choice,
        register_model_structural_tag,
    )
    from .contrib import hf
    from .structural_tag import StructuralTag, StructuralTagItem

__version__ = "0.2.8"
"""The version of XGrammar whose interface this is; `kernels_core.__version__` is the engine's."""

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "exception",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "hf",
    "max_recursion_depth",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
]

_MODULES = ("builtin_structural_tag", "contrib", "kernels", "openai_tool_call_schema", "structural_tag", "testing")

__getattr__, __dir__ = lazy_names(
    __name__,
    extras={"torch", "transformers", "pydantic"},
    modules={name: f"{__name__}.{name}" for name in _MODULES} | {"hf": f"{__name__}.contrib.hf"},
    cure="pip install 'maskscope[workbench,generate]'",
)
