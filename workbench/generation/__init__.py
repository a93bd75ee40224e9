"""Generation with a model in the loop: `load_model`, `generate`, and the trace of what the grammar did.

    from workbench.generation import generate, load_model

    model = load_model("demo")
    generate(model, "weather in Lund", 'root ::= "yes" | "no"')

Names are loaded on first use, because torch and transformers are heavy.
How to use it: docs/concepts/generating.md.
Code map, in reading order: `generation` (the records), `sampling` (the draw), `loading` and `model`
(weights and cache), `loop` (one text, for people), `engine` (the loop, for one text or many), `row` (a text), `record`
(what is written down of it), `cutting` (where tokens
may be cut, and text without a choice), `cuts` (the other cuts of a text), `side_by_side`,
`logits_processor` (the same constraint inside `transformers`); under the
engine `slots` (the model's cache), `drawing` (few logits, or all), `device_masks` (masks where a GPU's logits are),
`drafts` and `lookup` (guesses).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench.generation.device_masks import DeviceMasks
    from workbench.generation.drafts import Drafts
    from workbench.generation.engine import Engine
    from workbench.generation.errors import BeginningError, ModelError
    from workbench.generation.generation import Generation
    from workbench.generation.loading import load_model
    from workbench.generation.logits_processor import GrammarLogitsProcessor
    from workbench.generation.loop import IncompleteTextWarning, TokenStream, astream, generate, stream
    from workbench.generation.model import LanguageModel
    from workbench.generation.row import Chunk, Row
    from workbench.generation.sampling import Sampling
    from workbench.generation.side_by_side import SideBySide, generate_side_by_side
    from workbench.generation.step import Step

__all__ = [
    "BeginningError",
    "Chunk",
    "DeviceMasks",
    "Drafts",
    "Engine",
    "Generation",
    "GrammarLogitsProcessor",
    "IncompleteTextWarning",
    "LanguageModel",
    "ModelError",
    "Row",
    "Sampling",
    "SideBySide",
    "Step",
    "TokenStream",
    "astream",
    "generate",
    "generate_side_by_side",
    "load_model",
    "stream",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    extras={"torch", "transformers", "safetensors"},
    cure="pip install 'maskscope[generate]' (on a machine without a GPU with -c constraints.txt, so that no CUDA "
    "packages come along)",
)
