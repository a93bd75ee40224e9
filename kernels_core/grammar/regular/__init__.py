"""Regular languages over code points: their algebra, their automata, and the regular expressions that denote them.

In reading order: `languages` (sets of strings, closed under union, intersection and complement), `dfa` (automata when
structure alone will not do), `reader` with `classes` and `tree` (the text of a regular expression), `assertions` and
`patterns` (what it denotes), `from_rules` and `to_rules` with `graph` (grammars to languages and back).
"""
