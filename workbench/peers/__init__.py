"""Engines to compare and to measure, ours and others', behind one small interface (`base.py`).

Each adapter is a module here that imports its engine when it is asked for; what is not installed is "not run".
`pip install '.[peers]'` installs them.  Who uses them: `workbench.comparing` (masks and verdicts side by side) and
`experiments` (times).

Read on: `base.py`, `catalogue.py` (which there are), `toolsets.py` (tools as every engine is given them).
"""
