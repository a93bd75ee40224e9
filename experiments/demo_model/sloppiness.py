"""How a share of the training answers goes wrong: the habits seen in language models that write tool calls by hand.

Each habit takes the calls and a seeded random source, and returns a text that `tools.judge` refuses (tested).  A model
trained on such text is honestly uncertain about the format, as a large model is about one it was rarely shown.
Read on: `dialogues.py`, which decides when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random

from experiments.demo_model.tools import CLOSE, Call, render, spell, tagged

_SYNONYMS = {
    "city": "location",
    "unit": "units",
    "operation": "op",
    "a": "x",
    "b": "y",
    "text": "message",
    "time": "when",
    "to": "recipient",
    "body": "text",
    "minutes": "duration",
    "artist": "band",
    "shuffle": "random",
}


def python_quotes(calls: Sequence[Call], random: Random) -> str:
    """The call as Python prints a dict: single quotes, True and False."""
    return tagged(calls, lambda call: str({"name": call.name, "arguments": dict(call.arguments)}))


def trailing_comma(calls: Sequence[Call], random: Random) -> str:
    """A comma after the last argument."""
    return render(calls).replace("}}", ",}}")


def bare_keys(calls: Sequence[Call], random: Random) -> str:
    """Keys without quotes, as in JavaScript."""
    return re.sub(r'"(\w+)": ', r"\1: ", render(calls))


def missing_close(calls: Sequence[Call], random: Random) -> str:
    """The closing tag is forgotten at the end."""
    return render(calls).removesuffix(CLOSE)


def missing_brace(calls: Sequence[Call], random: Random) -> str:
    """One closing brace too few."""
    return render(calls).replace("}}", "}")


def fenced(calls: Sequence[Call], random: Random) -> str:
    """A Markdown code block in place of the tags."""
    body = "\n".join(spell(call.name, dict(call.arguments)) for call in calls)
    return f"```json\n{body}\n```"


def chatter(calls: Sequence[Call], random: Random) -> str:
    """A polite sentence before the call, where nothing but calls was asked for."""
    return random.choice(("Sure! ", "Okay, ", "Let me check. ", "Here you go: ")) + render(calls)


def double_encoded(calls: Sequence[Call], random: Random) -> str:
    """The arguments as a string that holds JSON."""
    return tagged(calls, lambda call: spell(call.name, json.dumps(dict(call.arguments), ensure_ascii=False)))


def synonyms(calls: Sequence[Call], random: Random) -> str:
    """Plausible argument names that the tool does not have."""
    return tagged(calls, lambda call: spell(call.name, {_SYNONYMS[k]: v for k, v in call.arguments.items()}))


def wrong_tool(calls: Sequence[Call], random: Random) -> str:
    """A tool's name in another style."""
    return tagged(calls, lambda call: spell(call.name.split("_")[-1].title(), dict(call.arguments)))


def function_style(calls: Sequence[Call], random: Random) -> str:
    """A function call as in a programming language."""

    def spelt(call: Call) -> str:
        arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in call.arguments.items())
        return f"{call.name}({arguments})"

    return tagged(calls, spelt)


HABITS: tuple[Callable[[Sequence[Call], Random], str], ...] = (
    python_quotes,
    trailing_comma,
    bare_keys,
    missing_close,
    missing_brace,
    fenced,
    chatter,
    double_encoded,
    synonyms,
    wrong_tool,
    function_style,
)


def spoil(calls: Sequence[Call], random: Random) -> str:
    """The calls, spelt wrong in one way chosen by `random`."""
    return random.choice(HABITS)(calls, random)


def spoil_one(call: Call, random: Random) -> str:
    """A call in free text, spelt wrong: by any habit but chatter, which is no mistake there."""
    return random.choice([habit for habit in HABITS if habit is not chatter])([call], random)
