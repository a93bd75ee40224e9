"""Tables and cards of the static displays, for views that live in modules of their own.

Read on: `visualizers/html.py` (what an untrusted notebook leaves standing).
"""

from __future__ import annotations

from visualizers.html import _badge as badge
from visualizers.html import _card as card
from visualizers.html import _table as table

__all__ = ["badge", "card", "table"]
