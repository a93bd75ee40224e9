"""Judge schemas by the texts that their projects keep beside them: SchemaStore's, as they are written.

    python -m tests.json_schema.judge_texts                    # every schema of the data folder
    python -m tests.json_schema.judge_texts --order declared

A text is judged as `json.dumps` writes it, with its members as they stand; formats are not asserted, as in the verdicts
of the data.  Schemas that are refused are counted by their first reason.

Read on: `judge_schemas.py` (MaskBench, in some order of the keys).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kernels_core import CompiledGrammar, Grammar, GrammarMatcher, Options, UnsupportedSchemaError
from kernels_core.errors import MaskscopeError
from kernels_core.grammar.json_schema.steps import Order
from tests.json_schema.json_judge import byte_vocabulary
from workbench.data import data_folder

__all__ = ["judge", "main"]


def judge(line: dict[str, Any], order: Order) -> Iterator[str]:
    """What became of a schema, and of each of its texts."""
    try:
        grammar = Grammar.from_json_schema(line["schema"], resources=line["resources"], order=order, formats=False)
    except UnsupportedSchemaError as error:
        yield f"schema refused: {error.problems[0].keyword}"
        return
    except MaskscopeError as error:
        yield f"schema refused: {type(error).__name__}"
        return
    yield "schema compiled"
    compiled = CompiledGrammar(grammar, byte_vocabulary(), Options())
    for test in line["tests"]:
        matcher = GrammarMatcher(compiled)
        accepted = matcher.accept_string(json.dumps(test["data"], ensure_ascii=False)) and matcher.is_completed()
        wrong = f"text wrongly {'accepted' if accepted else 'rejected'}: {line['name']} {test['name']}"
        yield "text judged rightly" if accepted == test["valid"] else wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if a text was judged wrongly, 2 if there is no data."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.json_schema.judge_texts", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "file", nargs="?", type=Path, help="schemas with their texts (default: those of the data folder)"
    )
    parser.add_argument("--order", choices=("any", "declared"), default="any", help="of members")
    chosen = parser.parse_args(arguments)
    folder = data_folder()
    file: Path | None = chosen.file or (folder and folder / "schemastore" / "schemas.jsonl.gz")
    if file is None or not file.is_file():
        print(f"there is no file {file or 'with schemas, and no data folder'}", file=sys.stderr)
        return 2
    with gzip.open(file, "rt") as lines:
        found = Counter(what for line in lines for what in judge(json.loads(line), chosen.order))
    for what, count in found.most_common():
        print(f"{count:6,} {what}")
    return int(any(what.startswith("text wrongly") for what in found))


if __name__ == "__main__":
    sys.exit(main())
