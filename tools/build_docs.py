"""Write the documentation as plain HTML: `python tools/build_docs.py build/docs`.

The Markdown pages of the repository become pages of the same name, with a list of all of them on the left.  Each
notebook is executed and becomes a page with its results and pictures; this takes minutes; `--no-notebooks` leaves it
out.  The API reference comes from the docstrings, by pdoc, under api/.  Nothing is fetched from the network when they
are read.
"""

from __future__ import annotations

import argparse
import html
import importlib
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pdoc
import pdoc.render
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
FRONT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
NOTEBOOKS = Path("notebooks/README.md")
"""The table of the notebooks, in reading order."""
PACKAGES = ("kernels_core", "workbench", "visualizers", "experiments")

STYLE = """
body { margin: 0; display: flex; font: 16px/1.55 system-ui, sans-serif; color: #1c2430; background: #fff }
nav { flex: 0 0 15rem; padding: 2rem 1.2rem; font-size: .9rem; border-right: 1px solid #dde3ea }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none }
nav a.here { font-weight: 600 } nav h4 { margin: 1.2rem 0 .2rem; color: #697789 }
main { max-width: 46rem; padding: 1rem 2.5rem 4rem; min-width: 0 } img { max-width: 100% }
code, pre { font: .88em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; background: #f3f5f8 }
pre { padding: .8rem 1rem; overflow-x: auto } table { border-collapse: collapse } a { color: #0b62b8 }
th, td { border-bottom: 1px solid #dde3ea; padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #d8dee6; background: #14181d } a { color: #74b4f2 }
  nav, th, td { border-color: #2c343d } code, pre { background: #1d232a } }
@media (max-width: 50rem) { body { flex-direction: column } nav { border: 0 } main { padding: 1rem } }
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the documentation as HTML.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--no-notebooks", action="store_true", help="do not execute the notebooks; link none")
    options = parser.parse_args()
    folder: Path = options.folder
    shutil.rmtree(folder, ignore_errors=True)
    pages = find_pages()
    if not options.no_notebooks:
        for notebook in find_notebooks():
            export_notebook(notebook, folder)
        pages += [NOTEBOOKS, *find_notebooks()]
    for page in pages:
        if page.suffix == ".md":
            target = folder / html_name(page)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(render(page, pages))
    for picture in (path for kind in ("png", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")):
        target = folder / picture.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, target)
    pdoc.render.configure(docformat="numpy", search=True)
    modules = find_modules()
    warnings.filterwarnings("ignore", "The module specification .* has already been added")
    absent = [name for name in modules if needs_something_absent(name)]
    pdoc.pdoc(*modules, *(f"!{name}" for name in absent), output_directory=folder / "api")
    print(f"{folder}/index.html: {len(pages)} pages; {folder}/api: {len(modules) - len(absent)} modules")
    if absent:
        print(f"left out, since what they wrap is not installed: {', '.join(absent)}")


def find_pages() -> list[Path]:
    """Pages in reading order, relative to the root: the front matter, then docs/ folder by folder."""
    return [Path(name) for name in FRONT] + sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))


def find_notebooks() -> list[Path]:
    """The notebooks in the order of their table, relative to the root."""
    return [NOTEBOOKS.parent / name for name in re.findall(r"\]\((\w+\.ipynb)\)", (ROOT / NOTEBOOKS).read_text())]


def export_notebook(notebook: Path, folder: Path) -> None:
    """Execute a notebook and write it as a page; its links lead to the HTML twins."""
    target = folder / html_name(notebook)
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "tools/export_notebook.py", str(notebook), str(target.resolve())]
    subprocess.run(command, cwd=ROOT, check=True)
    shutil.rmtree(target.with_suffix(""), ignore_errors=True)  # where the notebook worked
    target.write_text(with_twins(target.read_text()))


def find_modules() -> list[str]:
    """Public modules, compiled ones too.  All are named: of packages with `__all__` pdoc takes only what that names."""
    files: list[Path] = []
    for name in PACKAGES:
        files += [*(ROOT / name).rglob("*.py"), *(ROOT / name).rglob("*.pyx")]
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


def html_name(page: Path) -> Path:
    return Path("index.html") if page.name == FRONT[0] and page.parent == Path() else page.with_suffix(".html")


def title(page: Path) -> str:
    text = (ROOT / page).read_text()
    if page.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    first = re.search(r"^# +(.+)$", text, re.MULTILINE)
    if first is None:
        raise SystemExit(f"{page} has no title: its first heading starts with '# '")
    return first[1].replace("`", "")


def render(page: Path, pages: list[Path]) -> str:
    body = MarkdownIt("commonmark").enable("table").render((ROOT / page).read_text())
    body = with_twins(body)
    body = body.replace("\n\n</code></pre>", "\n</code></pre>")  # the blank line that ends a doctest
    up = "../" * (len(page.parts) - 1)
    links, section = [], ""
    for other in pages:
        if other.parent.name != section:
            section = other.parent.name
            links.append(f"<h4>{html.escape(section)}</h4>")
        here = ' class="here"' if other == page else ""
        links.append(f'<a href="{up}{html_name(other)}"{here}>{html.escape(title(other))}</a>')
    links.append(f'<h4>reference</h4><a href="{up}api/index.html">API</a>')
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title(page))}</title><style>{STYLE}</style>"
        f"<nav>{''.join(links)}</nav><main>{body}</main></html>\n"
    )


def with_twins(body: str) -> str:
    """Links to pages and notebooks of ours lead to their HTML twins."""
    link = r'href="((?!https?:)[^"#]*)\.(?:md|ipynb)(#[^"]*)?"'
    return re.sub(link, lambda m: f'href="{twin(m[1])}{m[2] or ""}"', body)


def twin(target: str) -> str:
    """README.md of the root is index.html."""
    name = Path(target)
    front = name.name == "README" and name.parent.name in ("", "..")
    return str(name.parent / "index.html") if front else f"{target}.html"


if __name__ == "__main__":
    main()
