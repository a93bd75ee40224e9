"""Write docs/real-inputs.md: the inputs that people reported to other projects, and the tests that hold them.

The page comes from the marks `@pytest.mark.report(source, what)` of the tests.  Test files are read and not imported,
which takes a second; a mark that the page would leave out, or that names no report, is an error.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "real-inputs.md"
SOURCE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
# The first of these folders that holds a test's file gives the kind.
KINDS = {
    "tests/json_schema": "JSON Schema",
    "tests/grammar/structural_tag": "Tools and servers",
    "tests/grammar/templates": "Tools and servers",
    "tests/grammar": "Grammars and regular expressions",
    "tests/serve": "Tools and servers",
    "tests/compat": "Tools and servers",
    "tests/tokens": "Tokenizers",
    "tests/engine": "Parsing and masks",
    "tests/workbench": "Command line",
}
INTRODUCTION = """# Inputs from reports

People reported these inputs to other engines, servers and tokenizers. Each entry says what is right, links the reports,
and names the test that holds it: that test gives Maskscope an input of this kind, and fails unless Maskscope does what
is right. `make real-inputs` writes the page from the marks of the tests.
"""


def marks(text: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Source, claim and test of each mark `report` in the text of the file `name`."""
    tree = ast.parse(text)
    missed = set(reports(tree))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name.startswith("test_"):
            for call in (call for decorator in function.decorator_list for call in reports(decorator)):
                missed.remove(call)
                yield *claim(call, name), function.name
    if missed:
        lines = ", ".join(str(line) for line in sorted(call.lineno for call in missed))
        raise SystemExit(f"{name}: line {lines}: the mark stands in no decorator of a test")


def reports(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.report":
            yield node


def claim(call: ast.Call, name: str) -> tuple[str, str]:
    found = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    if len(found) != 2 or len(call.args) != 2 or call.keywords or not found[1].endswith("."):
        raise SystemExit(f'{name}: line {call.lineno}: write report("owner/repository#number, ...", "One sentence.")')
    for source in found[0].split(", "):
        if not SOURCE.fullmatch(source):
            raise SystemExit(f"{name}: line {call.lineno}: {source!r} is not owner/repository#number")
    return found[0], found[1]


def page() -> str:
    """The page as it follows from the tests."""
    lists: dict[str, list[str]] = {kind: [] for kind in KINDS.values()}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text, name = file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix()
        if "mark.report(" not in text:
            continue
        for sources, what, test in marks(text, name):
            kind = next((kind for folder, kind in KINDS.items() if name.startswith(f"{folder}/")), None)
            if kind is None:
                raise SystemExit(f"{name}: give its folder a kind in tools/real_inputs.py")
            links = SOURCE.sub(r"[\g<0>](https://github.com/\1/issues/\2)", sources)
            lists[kind].append(f"- {what}  \n  {links}; `{test}` in [{name}](../{name})\n")
    return INTRODUCTION + "".join(f"\n## {kind}\n\n{''.join(found)}" for kind, found in lists.items() if found)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
