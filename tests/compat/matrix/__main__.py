"""`python -m tests.compat.matrix`: makes the calls of the behaviour matrix, and compares them with XGrammar's.

XGrammar's side is run where XGrammar is installed, and read from docs/compat-matrix.md elsewhere.  The exit code is 0
when at least 98 % of the rows are alike, or differ for a reason that is given.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version as installed

from . import table

LEAST = 0.98


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.matrix", description=__doc__)
    parser.add_argument("--all", action="store_true", help="print the rows that are alike, too")
    parser.add_argument("--write", action="store_true", help="write docs/compat-matrix.md; needs XGrammar")
    asked = parser.parse_args(arguments)
    live = table.peer() is not None
    if asked.write and not live:
        parser.error("--write needs XGrammar: pip install xgrammar")
    version = installed("xgrammar") if live else table.VERSION
    rows = table.compare()
    if asked.write:
        table.PAGE.write_text(table.page(rows, version), encoding="utf-8")
    for one in rows:
        if asked.all or not one.is_alike:
            print(f"{one.row.group} | {one.row.feature} | {one.row.shown}")
            print(f"    XGrammar: {one.theirs}\n    here:     {one.here}" + f"\n    {one.reason}" * bool(one.reason))
    alike, explained = (sum(values) for values in zip(*((one.is_alike, one.is_explained) for one in rows), strict=True))
    side = "run" if live else "as recorded"
    print(f"{len(rows)} rows, XGrammar {version} {side}: {alike} alike, {explained - alike} differ for a reason.")
    if explained < LEAST * len(rows):
        print(f"{len(rows) - explained} differ without a reason.")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
