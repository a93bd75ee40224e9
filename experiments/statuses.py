"""What became of each schema in each engine: one row a schema, and counts by split and by keyword.

`python -m workbench experiment schemas FILE.csv` writes the rows of a run of `masks`.  A status is one of

- right: compiled, and every text was judged rightly;
- wrong acceptance, wrong rejection (or both): compiled, and an invalid text was taken, or a valid one was not;
- refused: ...: by the engine's own word, which stands behind it;
- time limit, or failed: ...: it did not come to an end, or crashed;
- unjudged: the engine gave up on a text, or the text was cut short;
- not run.

Read on: `masks.py` (who measures), `measurement.py` (what a trial holds).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Final, cast

import numpy as np
import pandas as pd
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from experiments.columns import Column, Row
from experiments.datasets import CaseName, DataError, load_case
from experiments.measurement import Measured, judged
from experiments.tails import ENGINE, quantile
from workbench.json_values import Json

RIGHT: Final = "right"
ACCEPTANCE, REJECTION = "wrong acceptance", "wrong rejection"
LIMIT: Final = "time limit"
NAMES: Final = ("file", "index")
REASON_CHARACTERS: Final = 160
# Whose values are named by the author of a schema: what stands there are no keywords.
NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependentRequired")
VALUES: Final = ("const", "enum", "default", "examples", "example")
KEYWORDS: Final = frozenset(word for uri in REGISTRY for word in REGISTRY.contents(uri).get("properties", ()))
"""Of all drafts, by their metaschemas: only these have a row of their own."""
FEWEST: Final = 20  # schemas without which a keyword has no row


def statuses(trials: pd.DataFrame) -> pd.DataFrame:
    """One row a schema: `file`, `index`, `id`, `keywords`, and the status in each engine by its name.

    trials: of `masks`, finished or not (`Ledger.frame`).
    """
    told: dict[tuple[str, int], dict[str, object]] = {}
    for row in trials.to_dict("records"):
        case = (str(row["file"]), int(row["index"]))
        known = told.setdefault(
            case, dict(zip(NAMES, case, strict=True)) | {"id": "", "keywords": " ".join(_words(*case))}
        )
        known["id"] = known["id"] or (row["id"] if isinstance(row.get("id"), str) else "")
        known[str(row["engine"])] = status_of(row)
    engines = list(trials["engine"].unique())
    found = pd.DataFrame([*told.values()], columns=[*NAMES, "id", "keywords", *engines])
    return found.sort_values(list(NAMES), ignore_index=True).fillna("not run")


def status_of(row: Row) -> str:
    """Of one trial."""
    if row["status"] == "not run":
        return "not run"
    if row["status"] == "error":
        said = str(row["error"]).partition("\n")[0]
        return LIMIT if said.startswith("TrialTimeoutError") else f"failed: {said[:REASON_CHARACTERS]}"
    if row["compiled"] is not True:
        return f"refused: {' '.join(str(row.get('refusal', '')).split())[:REASON_CHARACTERS]}"
    found = judged(cast(Measured, row))
    wrong = [ACCEPTANCE] if (False, True) in found else []
    wrong += [REJECTION] if (True, False) in found else []
    return " and ".join(wrong) or (RIGHT if len(found) == len(row["cold"]) else "unjudged")


@lru_cache(maxsize=16_384)
def _words(file: str, index: int) -> tuple[str, ...]:
    """The keywords of a schema, sorted; none where its file is not here."""
    try:
        schema = json.loads(load_case(CaseName(file, index)).schema)
    except DataError:
        return ()
    words: set[str] = set()

    def look(part: Json) -> None:
        for inner in part if isinstance(part, list) else ():
            look(inner)
        for word, inner in part.items() if isinstance(part, dict) else ():
            words.add(word)
            if word in NAMED and isinstance(inner, dict):
                for value in inner.values():
                    look(value)
            elif word not in VALUES:
                look(inner)

    look(schema)
    return tuple(sorted(words))


# -- tables -----------------------------------------------------------------------------------------------------------

COUNTED: Final = (
    Column("schemas", help="that were tried"),
    Column("right", "right, %", help="of them compiled, and every text judged rightly: MaskBench's passing"),
    Column("refused", help="compile errors: by the engine's own word"),
    Column("rejections", help="schemas with a valid text that it refuses: MaskBench's validation errors"),
    Column("acceptances", help="schemas with an invalid text that it takes: MaskBench's invalidation errors"),
    Column("limit", "time limit", help="schemas that it did not finish in time"),
    Column("failed", help="crashes, other errors, and schemas of which a text could not be judged"),
)
BY_SPLIT: Final = (
    Column("split", help="the file of MaskBench; all: every one"),
    ENGINE,
    *COUNTED,
    Column("first", "TTFM, average", "us", "time to the first mask, of schemas that it took"),
    Column("first p99", "TTFM p99", "us", "99 % take at most this"),
    Column("mask", "TBM, average", "us", "time between masks: making one, of all that it made"),
    Column("mask p99", "TBM p99", "us", "99 % take at most this"),
    Column("mask max", "TBM, most", "us", "the slowest mask"),
)
BY_KEYWORD: Final = (Column("keyword", help="schemas that hold it anywhere"), ENGINE, *COUNTED)


def by_split(trials: pd.DataFrame) -> list[dict[str, Any]]:
    """MaskBench's own table for each of its files, and for all."""
    splits = [("all", trials), *(trials.groupby("file") if trials["file"].nunique() > 1 else ())]
    return [
        {"split": str(split).rpartition("/")[2].removesuffix(".jsonl.gz"), "engine": engine}
        | _counted([status_of(row) for row in rows.to_dict("records")])
        | _timed(rows)
        for split, part in splits
        for engine, rows in part.groupby("engine", sort=False)
    ]


def by_keyword(trials: pd.DataFrame) -> list[dict[str, Any]]:
    """Counts of the schemas that hold a keyword, the commonest keyword first."""
    found = statuses(trials)
    engines = found.columns[len(NAMES) + 2 :]
    words = found["keywords"].str.split(" ").explode().value_counts()
    return [
        {"keyword": word, "engine": engine} | _counted(list(held[engine]))
        for word, count in words.items()
        if word in KEYWORDS and count >= FEWEST
        for held in [found[found["keywords"].map(lambda text, word=word: word in text.split(" "))]]
        for engine in engines
    ]


def _counted(told: Sequence[str]) -> dict[str, Any]:
    ran = [one for one in told if one != "not run"]
    counts = {
        "refused": sum(one.startswith("refused") for one in ran),
        "rejections": sum(REJECTION in one for one in ran),
        "acceptances": sum(ACCEPTANCE in one for one in ran),
        "limit": ran.count(LIMIT),
        "failed": sum(one.startswith("failed") or one == "unjudged" for one in ran),
    }
    return {"schemas": len(ran), "right": 100 * ran.count(RIGHT) / len(ran) if ran else float("nan"), **counts}


def _timed(rows: pd.DataFrame) -> dict[str, float]:
    took = [row for row in rows.to_dict("records") if row["status"] == "ok" and row["compiled"] is True]
    first = [row["compile_ns"] + row["first_mask_ns"] for row in took if not pd.isna(row["first_mask_ns"])]
    masks = [spent for row in took for one in row["cold"] for spent in one["mask_ns"]]
    return {
        name: float(of(np.array(times, dtype=float))) / 1e3 if times else float("nan")
        for name, times, of in (
            ("first", first, np.mean),
            ("first p99", first, partial(quantile, share=0.99)),
            ("mask", masks, np.mean),
            ("mask p99", masks, partial(quantile, share=0.99)),
            ("mask max", masks, np.max),
        )
    }
