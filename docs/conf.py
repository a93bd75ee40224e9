"""How Sphinx makes the pages (`tools/build_docs.py`): README, docs/ and notebooks as HTML that needs no network."""

import os
import re
from typing import Any

from sphinx.application import Sphinx

project = "Maskscope"
root_doc = "docs/index"
extensions = ["myst_nb"]
include_patterns = ["*.md", "docs/**", "notebooks/*", "tests/cases/README.md"]
exclude_patterns = ["**/.ipynb_checkpoints"]

html_theme = "furo"
html_title = project
html_copy_source = False

# Headings have the anchors that they have on GitHub, so that a link to one that is gone is a warning.
myst_heading_anchors = 4

# tools/build_docs.py executes notebooks; a check of links does without.
nb_execution_mode = "off"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
# Views show their static form.  What has only a live form would be blank, which is a warning.
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
os.environ |= {"MASKSCOPE_STATIC": "1", "PLOTLY_RENDERER": "notebook"}


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", leave_out_mathjax)


def leave_out_mathjax(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Plotly asks a content network for MathJax, for formulas in labels; the pages go without."""
    script = r'<script src="https?://[^"]*mathjax[^"]*"></script>'
    context["body"] = re.sub(script, "", context.get("body", ""), flags=re.IGNORECASE)
