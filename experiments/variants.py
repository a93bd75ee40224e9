"""Our own engine under different `Options`, over the schemas of `datasets`: what `ablation` and `parsers` share."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from functools import cache

import pandas as pd

from experiments.columns import Column, Table
from experiments.datasets import open_tokenizer
from experiments.engines import warm_up
from experiments.measurement import VERDICTS, measure_case, verdicts
from experiments.trial import Params
from kernels_core import Options
from workbench.peers.ours import Ours

CASE = ("file", "index")


def measure_variant(params: Params, changes: Mapping[str, object]) -> dict[str, object]:
    """One schema under the default options with `changes` (`measurement.measure_case`)."""
    return measure_case(_engine(params["vocabulary"], Options.laboratory(**changes)), params)


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
    warm_up(engine)
    gc.collect()
    gc.freeze()
    return engine
