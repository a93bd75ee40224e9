"""Make token masks: decide for every token of the vocabulary whether it may come next.

In reading order: `trie` (the vocabulary), `token_sets` (accepted, rejected and uncertain tokens of one state), `pool`
(token sets shared by all grammars), `strategy` (chooses how each mask is made), `cache` (makes and keeps it),
`bitmask` (masks as arrays, and on logits).  docs/concepts/how-a-mask-is-made.md names every strategy.
"""
