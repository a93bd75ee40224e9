"""What form costs in meaning: six ways to ask for the arguments of one call, question by question.

Source: CRANE (arXiv 2502.09061), draft-conditioned decoding (arXiv 2603.03305), the question of arXiv 2605.26128.

Every question has one function, and is answered by a JSON object of its arguments, in six arms:
- free: the prompt names the function;
- schema: the prompt holds the JSON Schema of the arguments, too;
- constrained: the prompt of "free", under the grammar of the schema;
- both: the prompt of "schema", under the grammar;
- reason: as "both", behind a paragraph of reasons that the model writes freely;
- draft: as "both", behind the free answer of "schema".
An answer is *called* if there is a JSON object in it, *valid* if that fits the schema (by `jsonschema`), *right* if it
is one of the question's answers (`bfcl.py`).  What is valid and not right is the tax that no schema shows: `wrong`
lists these answers, and `trace` writes one of them again, with all its steps.  Draws are greedy, so arms are paired
question by question: McNemar's exact test, Wilson's intervals.  One trial is one arm over ten questions.

Questions are made from a seed (reservations, transfers, alarms, parcels), and those of the Berkeley Function-Calling
Leaderboard, where they are there: in the data folder, or at the path `MASKSCOPE_BFCL`.  They are of its simple
category, unless `categories` names others (simple, multiple, live_simple, live_multiple), each a source of its own; the
first four arms are schema in the prompt x grammar.  `model` names the model; without it the demo model writes, which
was never trained for any of this.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import jsonschema
import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from scipy import stats

from experiments.bfcl import Question, is_right, read_questions
from experiments.claims import Effect, claims_of, mean, share, worst
from experiments.columns import Column, Row, Table, where
from experiments.datasets import DataError
from experiments.trial import NotRunError, Params
from workbench.data import data_folder
from workbench.json_values import Json, JsonObject

if TYPE_CHECKING:
    from workbench.generation import Generation, LanguageModel

BFCL: Final = "MASKSCOPE_BFCL"
"""The environment variable that names questions of the Berkeley Function-Calling Leaderboard."""
DEMO: Final = "demo"
ARMS: Final = ("free", "schema", "constrained", "both", "reason", "draft")
BOUND: Final = ("constrained", "both", "reason", "draft")
TOLD: Final = ("schema", "both", "reason", "draft")
COUNTS: Final = {"smoke": 2, "quick": 20, "full": 100}
MOST_MADE: Final = 10  # they are of four kinds, so that more of them tell little
SLICE: Final = 10
QUESTIONS: Final = "bfcl/questions.jsonl.gz"  # in the data folder
SIMPLE: Final = "simple"
LONGEST_PROMPT: Final = 2_000  # characters
TOKENS: Final = {"answer": 160, "reason": 96, "draft": 160}
FLAGS: Final = ("called", "valid", "right", "cut")
PAIRS: Final = (
    ("constrained", "free"),
    ("both", "schema"),
    ("reason", "both"),
    ("draft", "both"),
    ("draft", "schema"),
    ("reason", "schema"),
)
SHOWN: Final = 3
ASK: Final = "Answer with the arguments of the call, as one JSON object and nothing else."
REASONS: Final = "First think in a few sentences about the arguments of the call. Write no JSON yet."
THEREFORE: Final = "\n\nThe arguments as JSON:\n"
COLOURS: Final = {"right": "#2f8f5b", "valid, but wrong": "#c79a00", "not valid": "#b3261e", "not called": "#8a94a3"}


# -- questions --------------------------------------------------------------------------------------------------------


def made_questions(count: int, *, seed: int = 0) -> list[Question]:
    """Questions whose answers stand in them; the same for the same seed."""
    random = Random(f"questions {seed}")
    return [_MAKERS[number % len(_MAKERS)](random, f"made_{number}") for number in range(count)]


def _object(**members: Json) -> JsonObject:
    """A schema that requires all its members."""
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _one(number: str, name: str, text: str, schema: JsonObject, **right: Json) -> Question:
    return Question(number, text, {name: schema}, [(name, {key: [value] for key, value in right.items()})])


def _table(random: Random, number: str) -> Question:
    city, people, day = random.choice(_CITIES), random.randint(2, 9), random.choice(_DAYS)
    schema = _object(city={"type": "string"}, people={"type": "integer"}, day={"enum": list(_DAYS)})
    text = f"Reserve a table for {people} people in {city} on {day}."
    return _one(number, "reserve_table", text, schema, city=city, people=people, day=day)


def _transfer(random: Random, number: str) -> Question:
    amount, currency, name = random.randint(5, 900), random.choice(_CURRENCIES), random.choice(_NAMES)
    schema = _object(to={"type": "string"}, amount={"type": "integer"}, currency={"enum": list(_CURRENCIES)})
    text = f"Please send {amount} {currency} to {name}."
    return _one(number, "transfer_money", text, schema, to=name, amount=amount, currency=currency)


def _alarm(random: Random, number: str) -> Question:
    hour, minute, label = random.randint(0, 23), random.choice([0, 15, 30, 45]), random.choice(_LABELS)
    hours: JsonObject = {"type": "integer", "minimum": 0, "maximum": 23}
    minutes: JsonObject = {"type": "integer", "minimum": 0, "maximum": 59}
    schema = _object(hour=hours, minute=minutes, label={"type": "string"})
    text = f"Set an alarm at {hour}:{minute:02} for the {label}."
    return _one(number, "set_alarm", text, schema, hour=hour, minute=minute, label=label)


def _parcel(random: Random, number: str) -> Question:
    weight, city, express = random.randint(1, 30), random.choice(_CITIES), random.random() < 0.5
    schema = _object(kilograms={"type": "integer"}, destination={"type": "string"}, express={"type": "boolean"})
    text = f"A parcel of {weight} kg has to go to {city}{', by express' if express else ', there is no hurry'}."
    return _one(number, "ship_parcel", text, schema, kilograms=weight, destination=city, express=express)


_CITIES: Final = ("Lund", "Oslo", "Bremen", "Turin", "Porto", "Graz", "Ghent", "Cork")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CURRENCIES: Final = ("EUR", "USD", "SEK", "GBP")
_NAMES: Final = ("Ada", "Grace", "Edsger", "Barbara", "Donald", "Hedy")
_LABELS: Final = ("train", "dentist", "meeting", "laundry", "flight")
_MAKERS: Final = (_table, _transfer, _alarm, _parcel)


@cache
def _bfcl_questions(path: str, category: str, seed: int) -> tuple[Question, ...]:
    """The leaderboard's questions of one category with one answer, shuffled."""
    try:
        found = read_questions(Path(path))
    except (DataError, OSError) as error:
        raise NotRunError(str(error)) from None
    simple = [
        one
        for one in found
        if one.id.startswith(category) and len(one.answers) == 1 and len(_told(one)) + len(one.text) <= LONGEST_PROMPT
    ]
    Random(f"questions of BFCL {seed}").shuffle(simple)
    return tuple(simple)


def _questions(params: Params) -> list[Question]:
    first, count, source = params["first"], params["count"], params["source"]
    if source == "made":
        return made_questions(first + count, seed=params["seed"])[first:]
    kind, _, path = source.partition(":")
    if not path:
        folder = data_folder()
        if folder is None or not (folder / QUESTIONS).is_file():
            raise NotRunError(f"no {QUESTIONS} in the data folder (MASKSCOPE_DATA)")
        path = str(folder / QUESTIONS)
    category = kind.partition(" ")[2] or SIMPLE
    return list(_bfcl_questions(path, category, params["seed"]))[first : first + count]


# -- the arms ---------------------------------------------------------------------------------------------------------


def _name(question: Question) -> str:
    """Of the function that is to be called."""
    return question.answers[0][0]


def _schema(question: Question) -> JsonObject:
    return question.functions[_name(question)]


def _told(question: Question) -> str:
    return json.dumps(_schema(question), ensure_ascii=False)


def _asked(question: Question, arm: str) -> str:
    """What the model is asked in an arm."""
    name = _name(question)
    schema = f" Its arguments have this JSON Schema: {_told(question)}" if arm in TOLD else ""
    return f"Call the function {name}.{schema}\n\n{question.text}\n\n{REASONS if arm == 'reason' else ASK}"


def _prompt(model: LanguageModel, asked: str, said: str = "") -> list[int]:
    """Tokens of a question, and of what the model has said so far."""
    if not model.hf_tokenizer.chat_template:
        return model.encode_prompt(f"{asked}\n{said}", chat=False)
    turns = [{"role": "user", "content": asked}]
    if not said:
        return model.encode_prompt(turns)
    return model.encode_prompt([*turns, {"role": "assistant", "content": said}], continues=True)


def _write(
    model: LanguageModel, prompts: Sequence[Sequence[int]], schemas: Sequence[JsonObject | None], most: int
) -> list[tuple[str, int, bool]]:
    """Answers to some prompts side by side, under a schema each or None: text, tokens, and whether it was cut."""
    from workbench.generation import Engine, Sampling
    from workbench.generation.loop import matcher_for

    engine = Engine.of(model, rows=len(prompts), max_length=max(map(len, prompts)) + most + 1)
    rows = []
    for prompt, schema in zip(prompts, schemas, strict=True):
        matcher = None if schema is None else matcher_for(model, schema)
        rows.append(engine.admit(prompt, matcher, max_tokens=most, sampling=Sampling(0.0), complete=schema is not None))
    for _ in engine:
        pass
    for row in rows:
        if row.error is not None:
            raise row.error
    return [(row.text.decode(errors="replace"), len(row.tokens), row.finish_reason == "length") for row in rows]


def trial(params: Params) -> dict[str, object]:
    """Ten questions in one arm.

    `answers`: of each its question's id, what was said before it, and itself.  `FLAGS` and `tokens` (all that were
    drawn, reasons and drafts included) by question; `seconds_each`: of all together, divided.
    """
    try:
        from workbench.generation import load_model
    except ImportError as error:
        raise NotRunError(str(error)) from None
    model = load_model(params["model"])
    arm, questions = params["arm"], _questions(params)
    if not questions:
        raise NotRunError(f"there are not so many questions: {params['first'] + 1}")
    began = time.perf_counter()
    said, before, drawn = zip(*_said(model, arm, questions), strict=True)
    schemas = [_schema(one) if arm in BOUND else None for one in questions]
    prompts = [_prompt(model, _asked(one, arm), text) for one, text in zip(questions, said, strict=True)]
    answers = _write(model, prompts, schemas, TOKENS["answer"])
    seconds = (time.perf_counter() - began) / len(questions)
    found: dict[str, list[bool]] = {name: [] for name in FLAGS}
    for question, (text, _, cut), cut_before in zip(questions, answers, before, strict=True):
        for name, flag in judged(question, text).items():
            found[name].append(flag)
        found["cut"].append(cut or (arm not in BOUND and cut_before))
    told = [
        {"id": question.id, "said": text, "text": answer}
        for question, text, (answer, _, _) in zip(questions, said, answers, strict=True)
    ]
    tokens = [count + more for (_, count, _), more in zip(answers, drawn, strict=True)]
    return {"answers": told, **found, "tokens": tokens, "seconds_each": seconds}


def _said(model: LanguageModel, arm: str, questions: Sequence[Question]) -> list[tuple[str, bool, int]]:
    """What the model writes freely before each answer, whether that was cut, and its tokens."""
    if arm not in ("reason", "draft"):
        return [("", False, 0)] * len(questions)
    asked = [_asked(one, "reason" if arm == "reason" else "schema") for one in questions]
    written = _write(model, [_prompt(model, one) for one in asked], [None] * len(asked), TOKENS[arm])
    return [(text.rstrip() + THEREFORE, cut, count) for text, count, cut in written]


def read_answer(text: str, schema: JsonObject) -> JsonObject | None:
    """The first JSON object in a text; of `{"name": ..., "arguments": {...}}` the arguments, unless the schema has such
    members itself.  None where there is none."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            value, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
            continue
        inner = value.get("arguments", value.get("parameters"))
        own = schema.get("properties")
        wraps = isinstance(inner, dict) and not (isinstance(own, dict) and {"arguments", "parameters"} & own.keys())
        found: JsonObject = inner if wraps else value
        return found
    return None


def judged(question: Question, text: str) -> dict[str, bool]:
    """An answer's flags."""
    schema = _schema(question)
    value = read_answer(text, schema)
    valid = value is not None and jsonschema.Draft202012Validator(schema).is_valid(value)
    right = value is not None and valid and is_right(question, [(_name(question), value)])
    return {"called": value is not None, "valid": valid, "right": right}


def trace(row: Row) -> Generation:
    """One answer of `wrong` written again, with a record of every step: what the grammar refused, and how likely."""
    from workbench.generation import generate, load_model

    model = load_model(row["model"])
    number = next(one for one in _questions({**row, "first": 0, "count": row["of"]}) if one.id == row["id"])
    arm = row["arm"]
    grammar = _schema(number) if arm in BOUND else None
    prompt = _prompt(model, _asked(number, arm), row["said"])
    most = TOKENS["answer"]
    return generate(model, prompt, grammar, max_tokens=most, temperature=0.0, complete=grammar is not None)


# -- what came out ----------------------------------------------------------------------------------------------------


def wilson(true: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if not count:
        return float("nan"), float("nan")
    found = stats.binomtest(true, count).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def mcnemar(one: npt.ArrayLike, other: npt.ArrayLike) -> tuple[int, int, float]:
    """Of paired flags: where only the first is true, where only the other is, and McNemar's exact two-sided p."""
    a, b = np.asarray(one, dtype=bool), np.asarray(other, dtype=bool)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} flags are no pairs of {b.size}")
    gained, lost = int((a & ~b).sum()), int((b & ~a).sum())
    p = 1.0 if gained + lost == 0 else float(stats.binomtest(gained, gained + lost).pvalue)
    return gained, lost, p


BY: Final = ("source", "model", "arm")


def _answers(trials: pd.DataFrame) -> pd.DataFrame:
    """One row an answer, by source, model and arm, in the order of the questions."""
    each = trials.sort_values("first", kind="stable").explode([*FLAGS, "tokens", "answers"], ignore_index=True)
    each = each.assign(
        source=each["source"].map(_short),
        id=[answer["id"] for answer in each["answers"]],
        tokens=each["tokens"].astype(float),
        **{name: each[name].astype(bool) for name in FLAGS},
    )
    each["wrong"] = each["valid"] & ~each["right"]
    each["place"] = each["arm"].map(ARMS.index)
    return each.sort_values(["source", "model", "place"], kind="stable")


def _paired(some: pd.DataFrame, arm: str, against: str) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """The answers of two arms to the same questions; None where one of them has others, or none."""
    one, other = where(some, arm=arm), where(some, arm=against)
    return (one, other) if len(one) and one["id"].tolist() == other["id"].tolist() else None


def _pair_rows(trials: pd.DataFrame) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for (source, model), some in _answers(trials).groupby(["source", "model"], sort=False):
        for arm, against in PAIRS:
            pair = _paired(some, arm, against)
            for flag in ("right", "valid") if pair is not None else ():
                gained, lost, p = mcnemar(*(one[flag] for one in pair or ()))
                told = {"source": source, "model": model, "arm": arm, "against": against, "flag": flag}
                rows.append(told | {"gained": gained, "lost": lost, "p": p})
    return rows


def _percent(flag: str, answers: pd.DataFrame) -> str:
    low, high = wilson(int(answers[flag].sum()), len(answers))
    return f"{100 * answers[flag].mean():.0f} ({100 * low:.0f} to {100 * high:.0f})"


def _listed(trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    listed = wrong(trials)
    shown = listed
    if len(listed):
        shown = listed.groupby(["source", "arm"], sort=False).head(SHOWN)
        shown = shown.assign(
            source=shown["source"].map(_short), text=shown["text"].map(lambda text: " ".join(text.split()))
        )
    return {f"Valid, but wrong: {len(listed)}, the first {SHOWN} of each arm": shown}


SOURCE: Final = Column("source", help="whose questions")
MODEL_COLUMN: Final = Column("model", help="which model answers")
ARM: Final = Column("arm", help="how it is asked")
SHARE: Final = "share of the answers, and Wilson's interval"
TABLES: Final = (
    Table(
        "Arms",
        (
            SOURCE,
            MODEL_COLUMN,
            ARM,
            Column("questions", help="how many", of=len),
            *(
                Column(key, f"{head}, % (95 %)", "", SHARE, partial(_percent, key))
                for key, head in (*((name, name) for name in FLAGS[:3]), ("wrong", "valid, but wrong"))
            ),
            Column("cut", "cut", "%", "answers that the budget of tokens ended", lambda one: 100 * one["cut"].mean()),
            Column("tokens", "", "", "of an answer, reasons and drafts included", lambda one: one["tokens"].mean()),
            Column("seconds", "", "", "of one, several side by side", lambda one: one["seconds_each"].mean()),
        ),
        by=BY,
        named=_answers,
    ),
    Table(
        "Arms in pairs",
        (
            SOURCE,
            MODEL_COLUMN,
            ARM,
            Column("against", help="the other arm"),
            Column("flag", help="what is compared, question by question"),
            Column("gained", "only it", help="questions of which it is true in the arm alone"),
            Column("lost", "only the other", help="questions of which it is true in the other arm alone"),
            Column("p", "McNemar's p", help="of McNemar's exact test, two-sided"),
        ),
        rows=_pair_rows,
    ),
    Table(
        "",
        (
            SOURCE,
            ARM,
            Column("id", help="of the question"),
            Column("text", help="the answer"),
            Column("expected", help="the first answer that is right"),
        ),
        rows=_listed,
    ),
)


def wrong(trials: pd.DataFrame) -> pd.DataFrame:
    """Every valid answer that is not right, with what `trace` needs to write it again."""
    rows = []
    for row in trials.to_dict("records"):
        questions = {one.id: one for one in _questions(row)}
        for answer, valid, right in zip(row["answers"], row["valid"], row["right"], strict=True):
            if valid and not right:
                question = questions[answer["id"]]
                rows.append(
                    {name: row[name] for name in ("source", "model", "arm", "seed")}
                    | {"of": row["first"] + row["count"], "id": answer["id"], "question": question.text}
                    | {
                        "said": answer["said"],
                        "text": answer["text"].strip(),
                        "expected": json.dumps(question.answers[0][1]),
                    }
                )
    return pd.DataFrame(rows)


def _short(source: str) -> str:
    """A source without the folders of its path."""
    kind, _, path = source.partition(":")
    return f"{kind}: {Path(path).name}" if path else kind


def plot(trials: pd.DataFrame) -> go.Figure:
    """What became of the answers of each arm."""
    figure = go.Figure()
    known = _answers(trials)
    flags = [known[name] for name in ("right", "valid", "called")]
    known["became"] = np.select(flags, list(COLOURS)[:3], list(COLOURS)[3])
    arms = known.groupby(list(BY), sort=False)["became"]
    places = [[f"{source}, {model}" for (source, model, _), _ in arms], [arm for (_, _, arm), _ in arms]]
    for label, colour in COLOURS.items():
        shares = [100 * float((one == label).mean()) for _, one in arms]
        figure.add_bar(x=places, y=shares, name=label, marker_color=colour)
    figure.update_layout(barmode="stack")
    figure.update_yaxes(title="answers, %", range=[0, 100])
    figure.update_xaxes(title="questions, and arm")
    return figure


def grid(
    preset: str,
    limit: int | None = None,
    model: str | None = None,
    *,
    categories: Sequence[str] = (SIMPLE,),
    arms: Sequence[str] = ARMS,
) -> list[Params]:
    """Six arms (or `arms`); 2, 20 or 100 questions (or `limit`) of each of the leaderboard's `categories`, at most ten
    that are made; ten in a trial."""
    if unknown := [arm for arm in arms if arm not in ARMS]:
        raise ValueError(f"no arm {unknown[0]!r}; known: {', '.join(ARMS)}")
    count = limit or COUNTS[preset]
    path, folder = os.environ.get(BFCL, ""), data_folder()
    sources = {}
    if path or (folder is not None and (folder / QUESTIONS).is_file()):
        for category in categories:
            kind = "bfcl" if category == SIMPLE else f"bfcl {category}"
            sources[f"{kind}:{path}" if path else kind] = count
    sources["made"] = min(count, MOST_MADE)
    shared = {"model": model or DEMO, "seed": 0}
    return [
        {"arm": arm, "source": source, "first": first, "count": min(SLICE, most - first), **shared}
        for source, most in sources.items()
        for first in range(0, most, SLICE)
        for arm in arms
    ]


# -- claims -----------------------------------------------------------------------------------------------------------


def _broken(trials: pd.DataFrame) -> Effect:
    """Constrained answers that are not valid."""
    known = _answers(trials)
    return worst(~known["valid"][known["arm"].isin(BOUND)], "answers")


def _right_of_valid(trials: pd.DataFrame) -> Effect:
    """Of the valid answers under a grammar and its schema those that are right."""
    known = where(_answers(trials), arm="both", valid=True)
    return share(known["right"], "valid answers")


def _gain(arm: str, against: str, trials: pd.DataFrame) -> Effect:
    """Percentage points of right answers above another arm's, question by question."""
    each = [_paired(some, arm, against) for _, some in _answers(trials).groupby(["source", "model"], sort=False)]
    gains = [
        100.0 * (one["right"].to_numpy(float) - other["right"].to_numpy(float)) for one, other in filter(None, each)
    ]
    return mean(np.concatenate([[], *gains]), "questions")


CLAIMS: Final = claims_of(
    "tax",
    {
        "valid": _broken,
        "right": _right_of_valid,
        "both above schema": partial(_gain, "both", "schema"),
        "reason above both": partial(_gain, "reason", "both"),
        "draft above both": partial(_gain, "draft", "both"),
    },
)
