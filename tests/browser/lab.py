"""Where the tests' JupyterLab is, and how to open and run a notebook in it.

Read on: `tests/browser/conftest.py` (starts it), `experiments/jupyter.py` (how).
"""

from __future__ import annotations

from experiments.jupyter import ROOT, TOKEN, Lab, open_notebook, run_all, write_notebook

__all__ = ["ROOT", "TOKEN", "Lab", "open_notebook", "run_all", "write_notebook"]
