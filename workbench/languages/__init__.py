"""Every input language in its own words: what a person typed, which language it is, and where its mistakes are.

In reading order: `source` (the object), `guess` (which language), `positions` (JSON by place), `mistakes` (errors by
place), `tools` (lists of tools to structural tags), `layout` (values as text), `output` (compiled for a vocabulary),
`draft` (a source with mistakes, while another is in use).
"""

from workbench.languages.draft import NOTHING, Draft
from workbench.languages.guess import LANGUAGES, TITLES, Language
from workbench.languages.mistakes import Mistake
from workbench.languages.output import compile_output
from workbench.languages.source import CAPS, OPTIONS, WRITTEN, Source

__all__ = [
    "CAPS",
    "LANGUAGES",
    "NOTHING",
    "OPTIONS",
    "TITLES",
    "WRITTEN",
    "Draft",
    "Language",
    "Mistake",
    "Source",
    "compile_output",
]
