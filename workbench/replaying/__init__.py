"""Answers that others have logged, read again under a grammar: where it would have fought, and what it would cost.

    found = wb.replay("answers.json", schema, "tekken")     # logged by OpenAI's API, vLLM or SGLang; or a text
    found.to_frame(); found.figure(); found.to_chrome_trace("replay.json")

No model runs.  Code map: `formats` (what was logged, from what servers send), `walk` (the grammar along it), `replayed`
(the result and its displays).
"""

from workbench.replaying.formats import Logged, LoggedToken, ReplayError, read_logged
from workbench.replaying.replayed import Guess, Replayed, ReplayedStep
from workbench.replaying.walk import replay

__all__ = ["Guess", "Logged", "LoggedToken", "ReplayError", "Replayed", "ReplayedStep", "read_logged", "replay"]
