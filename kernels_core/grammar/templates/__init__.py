"""Model templates: tools as OpenAI's API describes them become the structural tag of a model's own call format.

In reading order: `request` (tools and choices), `registry` (templates by name), `pieces` (what layouts are made of),
`thinking`, `sections`, `marked`, `cohere` and `harmony` (the layouts).
"""

from . import cohere, harmony, marked, sections, thinking  # noqa: F401  (they register their templates)
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
