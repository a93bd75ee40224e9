"""The whole mask as a picture, one pixel a token.

Read on: `visualizers/live_tokens.py` (`MaskMap`), `workbench/panels/base.py`.
"""

from __future__ import annotations

from visualizers.live_tokens import MaskMap
from workbench.panels.base import Desk, Panel
from workbench.session import Change


class MaskPanel(Panel, name="mask", title="Mask", rank=70):
    """The whole mask, one pixel a token."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: MaskMap = MaskMap()

    def update(self, change: Change | None) -> None:
        self.view.show(self.session.inspect.token_sets())

    def static_html(self) -> str:
        return ""  # the token sets, shown by the panel of tokens, say the same in words
