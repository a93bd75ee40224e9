"""Real architectures with random weights: what a step costs, without a download and without sense.

`load_model("random:llama-3.1-8b")` has the shape of that model, `"random:llama-3.1-8b@tiny"` a small one of the same
make: the same class, vocabulary, and proportions of heads, widths and their sharing.  The name, with `random:`, is what
displays, traces and tables show.  Text goes through the demo model's tokenizer; ids beyond it have no text.
Read on: `model.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from workbench.generation.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

PREFIX: Final = "random:"
SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a model, as its published configuration has it; `kind` is what `transformers` calls its class.

    hidden, inner: widths of the residual stream and of the feed-forward layer.  heads, shared: heads of queries, and of
    keys and values.  tied: the output layer is the embedding.
    """

    kind: str
    hidden: int
    inner: int
    layers: int
    heads: int
    shared: int
    head_width: int
    vocabulary: int
    tied: bool
    context: int


ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "llama-3.2-1b": Architecture("llama", 2048, 8192, 16, 32, 8, 64, 128_256, True, 131_072),
    "llama-3.2-3b": Architecture("llama", 3072, 8192, 28, 24, 8, 128, 128_256, True, 131_072),
    "llama-3.1-8b": Architecture("llama", 4096, 14_336, 32, 32, 8, 128, 128_256, False, 131_072),
    "llama-3.1-70b": Architecture("llama", 8192, 28_672, 80, 64, 8, 128, 128_256, False, 131_072),
    "mistral-7b-v0.3": Architecture("mistral", 4096, 14_336, 32, 32, 8, 128, 32_768, False, 32_768),
    "qwen3-8b": Architecture("qwen3", 4096, 12_288, 36, 32, 8, 128, 151_936, False, 40_960),
}
SCALES: Final[Mapping[str, tuple[int, int, int]]] = {"tiny": (2, 1, 32), "small": (6, 2, 64), "medium": (12, 4, 64)}
"""Layers, heads of keys and values, and the width of a head; of Llama 3.1 8B: 33, 152 and 426 million parameters."""


def config_of(name: str, stop: int | None = None) -> PretrainedConfig:
    """The configuration of `random:ARCHITECTURE` or `random:ARCHITECTURE@SCALE`; `ModelError` lists what there is.

    stop: the id that ends a text.
    """
    from transformers import AutoConfig

    which, at, scale = name.removeprefix(PREFIX).lower().partition("@")
    if which not in ARCHITECTURES:
        raise ModelError(f"no architecture {which!r} to fill with random weights; known: {', '.join(ARCHITECTURES)}")
    if at and scale not in SCALES:
        raise ModelError(f"no scale {scale!r}; write {PREFIX}{which}@tiny, or one of {', '.join(SCALES)}")
    shape = ARCHITECTURES[which]
    layers, shared, head_width = SCALES[scale] if at else (shape.layers, shape.shared, shape.head_width)
    heads = shared * (shape.heads // shape.shared)
    # The hidden width need not be that of all heads together.
    hidden = heads * head_width * shape.hidden // (shape.heads * shape.head_width)
    config: PretrainedConfig = AutoConfig.for_model(
        shape.kind,
        vocab_size=shape.vocabulary,
        hidden_size=hidden,
        intermediate_size=hidden * shape.inner // shape.hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        head_dim=head_width,
        max_position_embeddings=shape.context,
        tie_word_embeddings=shape.tied,
        bos_token_id=None,
        eos_token_id=stop,
        pad_token_id=None,
    )
    return config


def make_model(name: str, device: torch.device, dtype: torch.dtype, stop: int | None) -> PreTrainedModel:
    """The model with weights of one seed; `ModelError` where it would not fit into the free memory of `device`."""
    from transformers import AutoModelForCausalLM

    config = config_of(name, stop)
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config, dtype=dtype)
    needed = sum(parameter.numel() for parameter in empty.parameters()) * dtype.itemsize
    free = _free_bytes(device)
    if free is not None and needed > free:
        smaller = f"{name.partition('@')[0]}@{next(iter(SCALES))}"
        raise ModelError(
            f"{name} needs {needed / 1e9:.3g} GB of memory on {device}, and {free / 1e9:.3g} GB are free: "
            f"take {smaller}, or a narrower dtype"
        )
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), device:
        torch.manual_seed(SEED)
        made: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype)
        return made


def _free_bytes(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None
