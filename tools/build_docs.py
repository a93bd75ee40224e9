"""Write the documentation as HTML that needs no network: `python tools/build_docs.py build/docs`.

Sphinx makes the pages and executes the notebooks, which takes minutes (`docs/conf.py`); a dead link, a page that is not
in the contents, or a cell that fails is an error.  The API reference comes from the docstrings, by pdoc, under api/.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pdoc
import pdoc.render

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kernels_core", "workbench", "visualizers", "experiments")
FRONT = (
    '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">README</a>, <a href="api/">API</a>\n'
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the documentation as HTML.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    sphinx = [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-n", "-q", "-c", "docs"]
    subprocess.run([*sphinx, "-D", "nb_execution_mode=force", ".", str(folder)], cwd=ROOT, check=True)
    (folder / "index.html").write_text(FRONT)
    pdoc.render.configure(docformat="numpy", search=True)
    warnings.filterwarnings("ignore", "The module specification .* has already been added")
    modules = find_modules()
    absent = [name for name in modules if needs_something_absent(name)]
    pdoc.pdoc(*modules, *(f"!{name}" for name in absent), output_directory=folder / "api")
    print(f"{folder}/index.html: pages and notebooks; {folder}/api: {len(modules) - len(absent)} modules")
    if absent:
        print(f"left out, since what they wrap is not installed: {', '.join(absent)}")


def find_modules() -> list[str]:
    """Public modules, compiled ones too.  All are named: of packages with `__all__` pdoc takes only what that names."""
    files = [file for name in PACKAGES for suffix in ("py", "pyx") for file in (ROOT / name).rglob(f"*.{suffix}")]
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files}
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))


def needs_something_absent(name: str) -> bool:
    """Whether a module imports a library that is not here (an engine to measure against, say)."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in PACKAGES:
            raise
        return True
    return False


if __name__ == "__main__":
    main()
