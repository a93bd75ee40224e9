"""What may come of asking an engine for something.  Light to import: every worker process of an experiment does."""

from __future__ import annotations


class NotRunError(RuntimeError):
    """Something cannot be run here, and that is no failure: it is not installed, not supported, or not built yet."""


class RefusedError(RuntimeError):
    """The engine does not take this schema or grammar: a result, not a failure."""
