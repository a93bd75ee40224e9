"""Follow texts and make masks as other engines do, to measure the engine beside them (`Options.parser`).

All rest on the engine's automata and machine, and allow exactly the same tokens: `pushdown` (XGrammar's stacks),
`vocabulary_masks` (every token tried, or a mask for every state ahead of time, as Outlines has it) and `minimal` (an
automaton with as few states as there can be).
"""
