"""Every token of the vocabulary with what becomes of it here.

Read on: `visualizers/live_tokens.py` (`TokenTable`), `workbench/panels/base.py`.
"""

from __future__ import annotations

from visualizers.live import TokenTable
from workbench.panels.base import Desk, Panel
from workbench.session import Change

__all__ = ["TokensPanel"]


class TokensPanel(Panel):
    """The token table; the token chosen in it is the selection's token."""

    name = "tokens"
    title = "Tokens"
    dock = "right_bottom"
    rank = 10

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: TokenTable = TokenTable()

    def update(self, change: Change | None) -> None:
        self.view.show(self.session.token_sets())
