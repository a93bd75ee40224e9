"""The seeded generator of training text: a request, and the tool calls that answer it, sometimes spelt wrong.

Most requests are answered by one or two calls and nothing else (the language of `tool_calls.ebnf`).  A share of them
asks for words as well: one to three calls of several tools with free text between them, or no call at all, where no
tool is for it.  `dialogues(count, seed=...)` is a pure function of its arguments: the same numbers give the same text
on any machine.
Read on: `phrasebook.toml` (the words), `sloppiness.py` (the wrong spellings), `recipe.py` (which counts and seeds train
the demo model).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from experiments.demo_model.sloppiness import spoil, spoil_one
from experiments.demo_model.tools import Call, render, tool_list

PAD, USER, ASSISTANT, END = "<|pad|>", "<|user|>", "<|assistant|>", "<|end|>"
SPECIAL_TOKENS = (PAD, USER, ASSISTANT, END)

TWO_CALLS_SHARE = 0.15
CARE = 0.35  # with the list of tools before its eyes, the model is wrong this much as often
TALK_SHARE = 0.3  # of the requests for words: those that no tool is for
CALLS_AMONG_WORDS = (1, 1, 1, 2, 2, 3)
JOINTS = (" and ", ", then ", ". also ")
_BOOK = tomllib.loads(Path(__file__).with_name("phrasebook.toml").read_text(encoding="utf-8"))
CITIES, PEOPLE, ARTISTS, ERRANDS, NEWS, ASIDES, ENDS, TALK = (
    _BOOK[name] for name in ("cities", "people", "artists", "errands", "news", "asides", "ends", "talk")
)
REQUESTS: Mapping[str, Sequence[str]] = _BOOK["requests"]
LEADS: Mapping[str, Sequence[str]] = _BOOK["leads"]


@dataclass(frozen=True)
class Dialogue:
    """One exchange.  `answer` is what the model learns to write; it is correct exactly when `spoilt` is false.

    `calls`: those that are asked for, none where no tool is for it.  `words`: free text is asked for as well.
    """

    request: str
    answer: str
    calls: tuple[Call, ...]
    spoilt: bool
    words: bool = False

    @property
    def prompt(self) -> str:
        """The text before the answer, with the chat's control tokens (as the tokenizer's chat template writes it)."""
        return f"{USER}{self.request}{END}{ASSISTANT}"


def dialogues(
    count: int, *, seed: int, sloppiness: float, words: float = 0.0, listed: float = 0.0
) -> Iterator[Dialogue]:
    """Yield `count` dialogues.

    Shares from 0 to 1: `sloppiness` of the answers are spelt wrong, `words` of the requests ask for free text, `listed`
    of them begin with the list of tools, and are answered with more care.
    """
    for name, share in (("sloppiness", sloppiness), ("words", words), ("listed", listed)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} is a share from 0 to 1, not {share}")
    random = Random(seed)
    for _ in range(count):
        with_list = bool(listed) and random.random() < listed
        wrong = CARE * sloppiness if with_list else sloppiness
        if words and random.random() < words:
            made = _talk(random) if random.random() < TALK_SHARE else _calls_among_words(random, wrong)
        else:
            made = _calls_alone(random, wrong)
        yield replace(made, request=f"{tool_list()}\n{made.request}") if with_list else made


def _calls_alone(random: Random, sloppiness: float) -> Dialogue:
    """One or two calls and nothing else."""
    pairs = [_ask(random)]
    if random.random() < TWO_CALLS_SHARE:
        pairs.append(_ask(random))
    request = random.choice(JOINTS).join(text for text, _ in pairs)
    calls = tuple(call for _, call in pairs)
    spoilt = random.random() < sloppiness
    return Dialogue(_type(request, random), spoil(calls, random) if spoilt else render(calls), calls, spoilt)


def _calls_among_words(random: Random, sloppiness: float) -> Dialogue:
    """Calls with a sentence before each; of a spoilt answer, one call is spelt wrong."""
    pairs = [_ask(random) for _ in range(random.choice(CALLS_AMONG_WORDS))]
    request = random.choice(ASIDES).format(request=random.choice(JOINTS).join(text for text, _ in pairs))
    calls = tuple(call for _, call in pairs)
    wrong = random.randrange(len(calls)) if random.random() < sloppiness else None
    parts = []
    for number, call in enumerate(calls):
        lead = random.choice(LEADS[call.name]).format(**call.arguments)
        parts.append(lead + (spoil_one(call, random) if number == wrong else render([call])))
    answer = " ".join(parts) + random.choice(ENDS)
    return Dialogue(_type(request, random), answer, calls, wrong is not None, words=True)


def _talk(random: Random) -> Dialogue:
    """A request that no tool is for."""
    request, answer = random.choice(TALK)
    told = {"city": random.choice(CITIES), "person": random.choice(PEOPLE), "artist": random.choice(ARTISTS)}
    return Dialogue(_type(request.format(**told), random), answer.format(**told), (), spoilt=False, words=True)


def _ask(random: Random) -> tuple[str, Call]:
    """One request in words, and the call it asks for."""
    return random.choice((_weather, _calculate, _reminder, _message, _timer, _music))(random)


def _weather(random: Random) -> tuple[str, Call]:
    city = random.choice(CITIES)
    unit = random.choice((None, None, "celsius", "fahrenheit"))
    text = random.choice(REQUESTS["get_weather"])
    if unit is None or "{unit}" not in text:
        return text.format(city=city, unit=""), Call("get_weather", {"city": city})
    return text.format(city=city, unit=f" in {unit}"), Call("get_weather", {"city": city, "unit": unit})


def _calculate(random: Random) -> tuple[str, Call]:
    operation = random.choice(("add", "subtract", "multiply", "divide"))
    a, b = _number(random), _number(random)
    text = random.choice(REQUESTS[operation]).format(a=a, b=b)
    return text, Call("calculate", {"operation": operation, "a": a, "b": b})


def _number(random: Random) -> int | float:
    if random.random() < 0.15:
        return random.randrange(1, 1000) / 10
    return random.randrange(random.choice((10, 100, 1000)))


def _reminder(random: Random) -> tuple[str, Call]:
    hour, minute = random.randrange(24), random.choice((0, 0, 15, 30, 45))
    spoken = f"{hour:02}:{minute:02}"
    if minute == 0 and hour and random.random() < 0.5:
        spoken = f"{(hour - 1) % 12 + 1} {'am' if hour < 12 else 'pm'}"
    errand = random.choice(ERRANDS)
    text = random.choice(REQUESTS["set_reminder"]).format(errand=errand, time=spoken)
    return text, Call("set_reminder", {"text": errand, "time": f"{hour:02}:{minute:02}"})


def _message(random: Random) -> tuple[str, Call]:
    person, news = random.choice(PEOPLE), random.choice(NEWS)
    text = random.choice(REQUESTS["send_message"]).format(person=person, news=news)
    return text, Call("send_message", {"to": person, "body": news})


def _timer(random: Random) -> tuple[str, Call]:
    minutes = random.choice((1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 75, 90, 120))
    return random.choice(REQUESTS["set_timer"]).format(minutes=minutes), Call("set_timer", {"minutes": minutes})


def _music(random: Random) -> tuple[str, Call]:
    artist, shuffle = random.choice(ARTISTS), random.random() < 0.4
    spoken = random.choice((" on shuffle", " shuffled", " in random order")) if shuffle else ""
    text = random.choice(REQUESTS["play_music"]).format(artist=artist, shuffle=spoken)
    return text, Call("play_music", {"artist": artist, "shuffle": shuffle})


def _type(request: str, random: Random) -> str:
    """The request as a hurried person types it: now and then without capitals, or with two letters swapped."""
    if random.random() < 0.1:
        request = request.lower()
    if random.random() < 0.08 and len(request) > 8:
        at = random.randrange(len(request) - 1)
        request = request[:at] + request[at + 1] + request[at] + request[at + 2 :]
    return request
