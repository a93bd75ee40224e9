"""Our own engine under different `Options`, over the schemas of `datasets`: what `ablation` and `parsers` share."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from experiments.columns import Column, Table
from experiments.datasets import CaseName, load_case, open_tokenizer
from experiments.measurement import VERDICTS, measure, rotate, verdicts
from experiments.trial import NotRunError, Params
from kernels_core import Options
from workbench.peers.ours import Ours

__all__ = ["CASE", "by_variant", "grid_of", "measure_variant", "options_with", "verdicts_of"]

CASE = ("file", "index")


def options_with(changes: Mapping[str, Any]) -> Options:
    """The default options with `changes`; `NotRunError` names a switch that the engine lacks, or knows otherwise."""
    missing = sorted(set(changes) - set(Options().to_dict()))
    if missing:
        raise NotRunError(f"the engine has no switch {missing[0]} yet")
    try:
        return Options.laboratory(**changes)
    except (TypeError, ValueError) as error:
        raise NotRunError(f"the engine does not take {dict(changes)}: {error}") from None


def grid_of(
    key: str, variants: Sequence[str], usable: Sequence[str], cases: Sequence[CaseName], shared: Params
) -> list[Params]:
    """One trial for each case and usable variant, next to each other and in rotating order; the other variants have one
    trial each, which says why they are not run.  `key` is the parameter that names the variant."""
    trials: list[Params] = [
        {key: variant, "file": "", "index": 0, **shared} for variant in variants if variant not in usable
    ]
    for number, case in enumerate(cases):
        where = {"file": case.file, "index": case.index, **shared}
        trials += [{key: variant, **where} for variant in rotate(usable, number)]
    return trials


def measure_variant(params: Params, changes: Mapping[str, Any]) -> dict[str, Any]:
    """One schema under the default options with `changes` (`measurement.measure`)."""
    options = options_with(changes)
    engine = _engine(params["vocabulary"], options)
    case = load_case(CaseName(params["file"], params["index"]))
    texts = [(instance.text, instance.valid) for instance in case.instances]
    measured = measure(engine, lambda: engine.compile_schema(case.schema), texts, max_tokens=params["max_tokens"])
    return {"id": case.id, **measured}


def by_variant(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows with the variant in the column that `measurement` reads engines from."""
    return frame.rename(columns={key: "engine"})


def verdicts_of(key: str) -> Table:
    """The verdicts of each variant, which the parameter `key` names."""
    columns = (
        Column("engine", key if key == "step" else "variant", help="what was switched on or varied"),
        *VERDICTS[1:],
    )
    return Table("Verdicts", columns, rows=lambda trials: verdicts(by_variant(trials, key)), unfinished=True)


@cache
def _engine(vocabulary: str, options: Options) -> Ours:
    """One engine for each variant in a process: what it caches across grammars is part of what is measured."""
    engine = Ours(open_tokenizer(vocabulary), options)
    warm = engine.compile_ebnf('root ::= "warm up"')
    warm.fill()
    gc.collect()
    gc.freeze()
    return engine
