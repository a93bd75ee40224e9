"""Generation with a model in the loop: `load_model`, `generate`, and the trace of what the grammar did.

    from workbench.generation import generate, load_model

    model = load_model("demo")
    generate(model, "weather in Lund", 'root ::= "yes" | "no"')

Names are loaded on first use, because torch and transformers are heavy.
Code map, in reading order: `trace` (the records), `sampling` (the draw), `model` (weights and cache), `loop` (one token
after another), `branch` (going on from any step; side by side), `refusals` (why favourites were refused),
`logits_processor` (the same constraint inside `transformers`); for many texts at once and without records, `engine`,
over `slots` (the model's cache), `drawing` (few logits, or all), `device_masks` (masks where a GPU's logits are),
`forced` (text without a choice), `drafts` and `lookup` (guesses).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.generation.branch import SideBySide, generate_side_by_side
    from workbench.generation.device_masks import DeviceMasks, MaskTraffic
    from workbench.generation.drafts import Drafts
    from workbench.generation.engine import Chunk, Engine, Row
    from workbench.generation.logits_processor import GrammarLogitsProcessor
    from workbench.generation.loop import BeginningError, Constraint, TokenStream, astream, generate, stream
    from workbench.generation.model import LanguageModel, ModelError, ModelRun, load_model
    from workbench.generation.sampling import Sampling
    from workbench.generation.trace import Alternative, FinishReason, Generation, Source, Step

__all__ = [
    "Alternative",
    "BeginningError",
    "Chunk",
    "Constraint",
    "DeviceMasks",
    "Drafts",
    "Engine",
    "FinishReason",
    "Generation",
    "GrammarLogitsProcessor",
    "LanguageModel",
    "MaskTraffic",
    "ModelError",
    "ModelRun",
    "Row",
    "Sampling",
    "SideBySide",
    "Source",
    "Step",
    "TokenStream",
    "astream",
    "generate",
    "generate_side_by_side",
    "load_model",
    "stream",
]

_HOMES = {
    **dict.fromkeys(("Alternative", "FinishReason", "Generation", "Source", "Step"), "trace"),
    **dict.fromkeys(("LanguageModel", "ModelError", "ModelRun", "load_model"), "model"),
    **dict.fromkeys(("BeginningError", "Constraint", "TokenStream", "astream", "generate", "stream"), "loop"),
    **dict.fromkeys(("Chunk", "Engine", "Row"), "engine"),
    **dict.fromkeys(("DeviceMasks", "MaskTraffic"), "device_masks"),
    "Drafts": "drafts",
    **dict.fromkeys(("SideBySide", "generate_side_by_side"), "branch"),
    "GrammarLogitsProcessor": "logits_processor",
    "Sampling": "sampling",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{home}")
    except ModuleNotFoundError as error:
        if error.name not in {"torch", "transformers", "safetensors"}:
            raise
        raise ImportError(
            f"generation needs {error.name}: pip install 'maskscope[generate]' (on a machine without a GPU with "
            "-c constraints.txt, so that no CUDA packages come along)"
        ) from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
