"""How it is recognised: one minimal automaton over bytes for each rule.

In reading order: `utf8` (code points as bytes), `eager_dfa` (determinise, minimise), `tag_dispatch` (free text with
tags), `size_estimate` and `inlining` (what is spelt out and what is called), `lower` (from the grammar IR to automata),
`tables` (the flat arrays that the parser runs on), `identity` (which states of which grammars are the same).
"""
