"""The first screen: what it opens on, what it shows, and runs that were recorded for it.

Reading order: `gallery.py` (outputs worth looking at), `recording.py` (a run of each, kept as a small file), `state.py`
(what the screen shows, as plain data), `recent.py` and `current.py` (sources and explorers that were opened last).
Read on: `workbench/panels/screen.py`, `frontend/src/screen.ts`.
"""
