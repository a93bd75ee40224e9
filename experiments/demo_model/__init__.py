"""The demo model: a language model of a few megabytes that calls tools, and often spells the call wrong.

It exists so that every notebook and test can run a real causal model with its own real tokenizer anywhere, offline.
It calls one or several tools, with words between the calls where the request asks for them, and answers in words
alone where no tool is for the request.  Sampled freely it makes the mistakes that larger models make (Python quotes,
trailing commas, invented argument names, missing tags); constrained by the grammar beside it, it cannot.

Reading order: `tools.py` (the six tools, what a correct call is), `tool_calls.ebnf` (the same as a grammar),
`dialogues.py` (the seeded generator of training text), `sloppiness.py` (how it misspells some of the answers),
`recipe.py` (every number of the training), `train.py` (the command).  The trained files lie in `weights/`.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["GRAMMAR_FILE", "WEIGHTS_FOLDER"]

_HERE = Path(__file__).resolve().parent
GRAMMAR_FILE = _HERE / "tool_calls.ebnf"
WEIGHTS_FOLDER = _HERE / "weights"
