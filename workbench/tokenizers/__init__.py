"""Tokenizers from every library, behind one small object; offline, and no library is imported before it is needed.

Read in this order: `tokenizer` (the object), `registry` (`load_tokenizer`, which knows every source), then one file
for each format: `tekken`, `huggingface`, `tiktoken_ranks`, `sentencepiece`.  `segmentation` cuts text with nothing but
a vocabulary, and `lexicon` is one as a trie.  How spellings become bytes is the engine's matter: `kernels_core.tokens`.
"""

from .libraries import MissingLibraryError
from .registry import load_tokenizer
from .tokenizer import Codec, Tokenizer

__all__ = ["Codec", "MissingLibraryError", "Tokenizer", "load_tokenizer"]
