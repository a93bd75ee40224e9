"""Engines to measure, ours and others', behind one small interface (`base.py`).

Each adapter is a module here that imports its engine when it is asked for; what is not installed is "not run".
`pip install '.[peers]'` installs them.
"""

from __future__ import annotations

from experiments.peers.base import Constraint, Engine, RefusedError
from experiments.peers.catalogue import ENGINES, open_engine

__all__ = ["ENGINES", "Constraint", "Engine", "RefusedError", "open_engine"]
