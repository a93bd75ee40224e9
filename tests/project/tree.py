"""The checkout as the tests of the project see it: tracked files, packages, and what each file imports."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("kernels_core", "workbench", "visualizers", "experiments", "maskscope")
FROM_CIMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n]*)|c?import[ \t]+([\w.]+))", re.MULTILINE
)


@cache
def project_files() -> tuple[Path, ...]:
    """Files that git tracks or would track; in an unpacked archive without git, everything but what is built."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        names = [name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        built = {".venv", "build", "dist", ".git"}
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if not built & set(path.parts)]
    files = tuple(sorted(path for name in names if (path := ROOT / name).is_file()))
    assert len(files) > 20, "the list of files cannot be right"
    return files


def package_files(*packages: str, suffixes: tuple[str, ...] = (".py",)) -> list[Path]:
    """Source files of the packages, or of all four when none is named."""
    wanted = packages or PACKAGES
    return [file for file in project_files() if file.suffix in suffixes and file.relative_to(ROOT).parts[0] in wanted]


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(file: Path) -> Iterator[str]:
    """Absolute dotted names that a .py, .pyx or .pxd file imports, wherever in the file the import stands."""
    for base, names in _statements(file, functions=True, types=True):
        yield base
        yield from (f"{base}.{name}" for name in names)


def modules_used(file: Path, known: frozenset[str], *, functions: bool = True, types: bool = False) -> Iterator[str]:
    """The modules in `known` that a file imports or cimports, without its own.

    functions: whether imports inside functions count; types: whether those that only type checkers read do.

    `from package import name` is the module `package.name` if there is one, else `package`.
    """
    own = module_name(file)
    for base, names in _statements(file, functions, types):
        for name in names or [""]:
            target = f"{base}.{name}".strip(".")
            while target and target not in known:
                target = target.rpartition(".")[0]
            if target and target != own:
                yield target


def _statements(file: Path, functions: bool, types: bool) -> Iterator[tuple[str, list[str]]]:
    text = file.read_text()
    if file.suffix != ".py":
        for match in FROM_CIMPORT.finditer(text):
            if match[0][0] in " \t" and not functions:
                continue
            if match[3]:
                yield match[3], []
            else:
                names = re.sub(r"#[^\n]*", "", match[2]).strip("() \n").split(",")
                yield match[1], [name.split(" as ")[0].strip() for name in names if name.strip()]
        return
    package = module_name(file) if file.name == "__init__.py" else module_name(file).rpartition(".")[0]
    work: list[ast.AST] = [ast.parse(text)]
    while work:
        node = work.pop()
        if not types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            work += node.orelse
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not functions:
            continue
        work += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            yield ".".join([*up, *([node.module] if node.module else [])]), [alias.name for alias in node.names]


def shown(file: Path) -> str:
    return str(file.relative_to(ROOT))
