"""Regular languages over code points: their algebra, their automata, and the regular expressions that denote them.

In reading order: `languages` (sets of strings, closed under union, intersection and complement), `dfa` (automata when
structure alone will not do), `patterns` (regular expressions to languages), `graph` (automata as grammar rules).
"""
