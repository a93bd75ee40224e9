"""What may come next: token masks.

In reading order: `trie` (the vocabulary), `token_sets` (accepted, rejected and uncertain tokens of one state), `pool`
(token sets shared by all grammars), `cache` (masks by parser state), `bitmask` (masks as arrays, and on logits).
"""
