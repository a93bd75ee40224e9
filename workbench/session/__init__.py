"""A session: one source, one tokenizer, and a place in a text, with everything the parser knows there.

In reading order: `history` (steps and places), `undo`, `result` (what became of a text), `matching` (moves a matcher
along a text), `shadow` (a second engine, to be asked), `masks`, `inspector` (what is known at a place), `session`,
`trace` and `run` (a model in the loop), `file` (a session as JSON).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench.session.result import Candidate, Reading, StepError
    from workbench.session.session import Change, Session

__all__ = ["Candidate", "Change", "Reading", "Session", "StepError"]

__getattr__, __dir__ = lazy_names(__name__, cure="pip install 'maskscope[workbench]'")
