"""Looking inside: small frozen pictures of the engine, made on request and never in normal running.

In reading order: `snapshots` (the pictures), `layout` (automata by state id, as far as they are made), `dots` (dotted
rules), `pairs` (states of two engines), `classic` (the textbook Earley chart), `look` (pictures of a matcher, and why a
token is refused), `trace` (what happened, event by event), `forest` (how each item came about, and in how many ways),
`stacks` (who called whom), `derivation` and `trees` (call stacks, parse trees, chains), `dispatch` and `watch` (free
text, triggers and tags).
"""
