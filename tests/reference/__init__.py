"""The oracle: plainly correct answers that every optimisation is measured against.

Reading order: `recogniser` (Earley's algorithm, interpreting the grammar IR), `masks` (the full scan of a vocabulary),
`language` (a second, independent oracle by set semantics, for small cases), `scan` (the full scan made bearable for
vocabularies of a hundred thousand tokens), `classic` (the textbook's items).  Nothing in here imports the engine.
"""

from tests.reference.classic import ClassicItem, classic_items
from tests.reference.language import LanguageTooLargeError, language, prefixes
from tests.reference.masks import naive_mask
from tests.reference.recogniser import EarleySet, Item, Recogniser
from tests.reference.scan import TokenTrie, TrieScan

__all__ = [
    "ClassicItem",
    "EarleySet",
    "Item",
    "LanguageTooLargeError",
    "Recogniser",
    "TokenTrie",
    "TrieScan",
    "classic_items",
    "language",
    "naive_mask",
    "prefixes",
]
