"""Model templates: tools as OpenAI's API describes them become the structural tag of a model's own call format.

In reading order: `request` (tools and choices), `registry` (templates by name), `pieces` (what layouts are made of),
`layouts` (one for each format).
"""

from . import layouts  # noqa: F401  (which registers them)
from .registry import get_model_structural_tag, has_own_tools, model_templates, register_model_structural_tag
from .request import Request, Tool, normalize_tool_choice

__all__ = [
    "Request",
    "Tool",
    "get_model_structural_tag",
    "has_own_tools",
    "model_templates",
    "normalize_tool_choice",
    "register_model_structural_tag",
]
