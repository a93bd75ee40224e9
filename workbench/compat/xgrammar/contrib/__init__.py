"""Hooks into libraries that generate text.  `hf`: Hugging Face `transformers`; `mlxlm` is refused."""
