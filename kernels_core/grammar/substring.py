"""`Substring("c1", "c2", ...)`: any run of neighbouring chunks, by a suffix automaton over whole chunks.

The automaton (Blumer et al. 1985) has at most two states and three edges a chunk, and reads each run in one way only.
Each state becomes a rule: it may end here, or a chunk follows and the rule of the next state.

Read on: `embedding.py` (what becomes of it), `macros.py`, `lark/terminals.py` (who call this).
"""

from __future__ import annotations

from collections.abc import Sequence

from . import nodes
from .ir import GrammarIR, Rule, RuleRef


def substring_grammar(chunks: Sequence[bytes]) -> GrammarIR:
    """The grammar of any run of `chunks`, the empty one too: a rule for each state, which is called by its number."""
    rules = {}
    for state, moves in enumerate(_suffix_automaton([chunk for chunk in chunks if chunk])):
        ways = (nodes.seq((nodes.literal(chunk), RuleRef(str(target)))) for chunk, target in moves.items())
        rules[str(state)] = Rule(str(state), nodes.choice((nodes.seq(()), *ways)))
    return GrammarIR(rules, "0")


def _suffix_automaton(symbols: Sequence[bytes]) -> list[dict[bytes, int]]:
    """Edges of the states that read every factor of `symbols`; state 0 is the start."""
    edges: list[dict[bytes, int]] = [{}]
    length, link = [0], [-1]  # of a state's longest word, and the state of its longest suffix that is elsewhere too
    last = 0
    for symbol in symbols:
        here = len(edges)
        edges.append({})
        length.append(length[last] + 1)
        link.append(0)
        at = last
        while at >= 0 and symbol not in edges[at]:
            edges[at][symbol] = here
            at = link[at]
        if at >= 0:
            target = edges[at][symbol]
            if length[at] + 1 == length[target]:
                link[here] = target
            else:
                clone = len(edges)
                edges.append(dict(edges[target]))
                length.append(length[at] + 1)
                link.append(link[target])
                while at >= 0 and edges[at].get(symbol) == target:
                    edges[at][symbol] = clone
                    at = link[at]
                link[target] = link[here] = clone
        last = here
    return edges
