"""The behaviour matrix: what XGrammar does and what `workbench.compat.xgrammar` does, call by call.

`python -m tests.compat.matrix` prints it.  In reading order: `row`, `table` (the page docs/compat-matrix.md, and
its rows), `calls` (what a call on the page means).
"""
