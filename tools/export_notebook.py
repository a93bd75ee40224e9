"""Execute a copy of a notebook and write one HTML page: `python tools/export_notebook.py in.ipynb build/out.html`.

The page holds every picture and asks nothing of the network.  Three things make it so: views are displayed in their
static form (`MASKSCOPE_STATIC=1`), text/html is preferred over the widget that stands beside it, and the template's
scripts from content networks are left out.  The page is read back, and a picture that would be blank is an error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter
from traitlets.config import Config

PRIORITY = ["text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex", "text/plain"]
LIVE_ONLY = {"application/vnd.jupyter.widget-view+json", "application/vnd.plotly.v1+json"}
CELL_TIMEOUT = 300  # seconds
TEMPLATE = """{% extends 'lab/index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute a notebook and export it as one self-contained HTML page.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    if not options.notebook.is_file():
        sys.exit(f"{options.notebook}: no such notebook")
    started = time.perf_counter()
    try:
        notebook = execute(options.notebook, options.page.parent / options.notebook.stem)
    except CellExecutionError as error:
        sys.exit(f"{options.notebook}: a cell failed\n{error}")
    page = convert(notebook, options.notebook.stem)
    problems = [*blank_outputs(notebook), *network_uses(page)]
    options.page.write_text(page)
    if problems:
        sys.exit(f"{options.page} is not complete:\n  " + "\n  ".join(problems))
    seconds = time.perf_counter() - started
    print(f"{options.page}: {len(notebook.cells)} cells, {len(page) / 1e6:.1f} MB, {seconds:.0f} s")


def execute(source: Path, folder: Path) -> nbformat.NotebookNode:
    """Run every cell with `folder` as the working directory; the source file is not touched."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(MASKSCOPE_STATIC="1", PLOTLY_RENDERER="plotly_mimetype+notebook")
    notebook: nbformat.NotebookNode = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--IPKernelApp.log_level=40"],  # no warning about plain TCP on the loopback
    )
    asyncio.run(client.async_execute())
    # Without the state of widgets nbclient cannot run a cell that shows progress; a page has no use for it.
    notebook.metadata.pop("widgets", None)
    return notebook


def convert(notebook: nbformat.NotebookNode, title: str) -> str:
    config = Config()
    # The command-line form of this setting is ignored by nbconvert; a config object is not.
    config.NbConvertBase.display_data_priority = PRIORITY
    exporter = HTMLExporter(config=config, raw_template=TEMPLATE, embed_images=True)  # type: ignore[no-untyped-call]
    page, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    # Plotly asks a content network for MathJax, for formulas in labels; the page goes without.
    return re.sub(r'<script src="https?://[^"]*mathjax[^"]*"></script>', "", str(page))


def blank_outputs(notebook: nbformat.NotebookNode) -> list[str]:
    """Outputs that are live only (a widget or a plot without an HTML twin): they would be blank in the page."""
    problems = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            kinds: set[str] = set(output.get("data", {}))
            if kinds & LIVE_ONLY and not kinds & set(PRIORITY[:4]):
                problems.append(f"cell {number}: {', '.join(sorted(kinds & LIVE_ONLY))} has no text/html beside it")
    return problems


def network_uses(page: str) -> list[str]:
    """Scripts, styles and pictures that the page would fetch."""
    fetch = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["'](https?:[^"']*)""")
    return [f"fetches {address}" for address in sorted(set(fetch.findall(page)))]


if __name__ == "__main__":
    main()
