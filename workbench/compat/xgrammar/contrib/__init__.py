"""Hooks into libraries that generate text.  `hf`: Hugging Face `transformers`."""

from __future__ import annotations

from ....lazy import lazy_names

__all__ = ["hf"]
__getattr__, __dir__ = lazy_names(__name__, modules={"hf": f"{__name__}.hf"}, cure="pip install 'maskscope[generate]'")
