"""Vocabularies as bytes: `TokenizerInfo`, and how the spellings of other libraries are read.

Read in this order: `spelling` (three ways to write bytes), `tokenizer_info` (the object the engine keeps),
`reading` (tokenizer objects of other libraries), `tokenizers_json` (the Hugging Face file format).
Nothing here imports a tokenizer library: foreign objects are recognised by what they can do.
"""

from .spelling import VocabType
from .tokenizer_info import TokenizerInfo

__all__ = ["TokenizerInfo", "VocabType"]
