"""Turn each rule of a grammar into an automaton over bytes.

In reading order: `utf8` (code points as bytes), `nfa` (one rule, by Thompson's construction), `nfa_builder` (which rule
from what), `size_estimate` and `inlining` (what is inlined and what is called), `lower` (from the grammar IR to
automata), `lazy_dfa` (states are determinised when they are met), `tables` (the flat arrays that the parser runs on),
`tag_dispatch` (free text with tags), `identity` (which states of which grammars are the same).
"""
