"""`load_model`: a model of this machine, with a line that says so while one waits.

Importing torch and transformers takes longer than reading a small model, so this module needs neither.
Read on: `model.py` (`read_model`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.generation.fetching import DEMO
from workbench.progress import Line

if TYPE_CHECKING:
    import torch

    from workbench.generation.model import LanguageModel

CALL = "the call is wb.generate(model, prompt, grammar), with a model of wb.load_model(...) or the name of one"


def load_model(
    name_or_path: str | Path = DEMO, device: str = "auto", dtype: str | torch.dtype | None = None
) -> LanguageModel:
    """Load a causal language model from this machine; in a notebook and on a terminal a line tells meanwhile.

    `name_or_path`: "demo", "smollm2" (a real model; `maskscope model fetch smollm2` fetches it once), a folder as
    `save_pretrained` writes it, the name of a model in the Hugging Face cache, or `random:ARCHITECTURE[@SCALE]` for
    random weights, in bfloat16 on CUDA (`random_weights.ARCHITECTURES`, `SCALES`).
    `device`: "auto" (CUDA when there is one, else the CPU), or what torch calls it.  `dtype`: a torch dtype or its
    name; None means float32 on the CPU and for the demo model, else the type the weights are stored in.
    Raises ModelError when the model, the device or the type is not there.
    """
    with Line(f"loading the model {name_or_path} ..."):
        from workbench.generation import LanguageModel  # noqa: F401  says which library is missing
        from workbench.generation.model import read_model

        return read_model(name_or_path, device, dtype)


def model_of(given: LanguageModel | str | Path, prompt: object) -> LanguageModel:
    """The model that a call was given, or the one whose name it was given; `TypeError` with the right call for what is
    no model, such as a prompt."""
    if isinstance(prompt, Mapping) or (isinstance(given, str) and not isinstance(prompt, str | list | tuple)):
        raise TypeError(f"{type(prompt).__name__!r} is no prompt: {CALL}")
    if not isinstance(given, str | Path):
        if not hasattr(given, "encode_prompt"):
            raise TypeError(f"{type(given).__name__!r} is no model: {CALL}")
        return given
    return _named(given)


@cache
def _named(name: str | Path) -> LanguageModel:
    """A model that was asked for by name, loaded once."""
    from workbench.generation.errors import ModelError

    try:
        return load_model(name)
    except ModelError as error:
        raise ModelError(f"{error}; {CALL}") from None
