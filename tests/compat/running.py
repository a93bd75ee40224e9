"""Runs the programs of this folder: the same text over XGrammar and over `workbench.compat.xgrammar`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in (FOLDER / "programs").glob("*.py"))
RECORDED = FOLDER / "recorded.json"
"""What the programs gave over XGrammar 0.2.8; write it anew with `python -m tests.compat.running`."""

_IMPORT = re.compile(r"^(import|from) xgrammar\b", re.MULTILINE)


def run(name: str, package: str, **names: Any) -> Any:
    """What a program leaves in RESULT, as JSON would give it back."""
    path = FOLDER / "programs" / f"{name}.py"
    text, count = _IMPORT.subn(rf"\1 {package}", path.read_text())
    assert count, f"{name} does not import xgrammar"
    space = {"__name__": f"program_{name}", **names}
    exec(compile(text, str(path), "exec"), space)
    return json.loads(json.dumps(space["RESULT"]))


def main() -> None:
    """Record what XGrammar gives; the program with a model is compared live instead."""
    found = {name: run(name, "xgrammar") for name in PROGRAMS if name != "hugging_face"}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
    RECORDED.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
