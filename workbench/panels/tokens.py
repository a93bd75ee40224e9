"""Every token of the vocabulary with what becomes of it here.

Read on: `visualizers/live_tokens.py` (`TokenTable`), `workbench/panels/base.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from visualizers.live_tokens import TokenTable
from workbench.next.next_tokens import NextTokens
from workbench.next.tooltip import tooltip
from workbench.panels.base import Desk, Panel
from workbench.panels.next import QUICK
from workbench.session import Change


class TokensPanel(Panel, name="tokens", title="Tokens", rank=60):
    """Every token of the vocabulary with what becomes of it here, also by meaning.

    The token chosen in it is the selection's token.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: TokenTable = TokenTable()
        self.view.answers("hint", lambda content: {"hint": tooltip(self.session.inspect, int(content["id"]))})

    def update(self, change: Change | None) -> None:
        self.view.show(self.session.inspect.token_sets(), _members(self.session.inspect.next(seconds=QUICK)))


def _members(here: NextTokens) -> Mapping[str, Callable[[], npt.NDArray[np.bool_]]]:
    """The groups of what may come next; their tokens are looked up when somebody asks for a group."""

    def member(number: int) -> Callable[[], npt.NDArray[np.bool_]]:
        def look() -> npt.NDArray[np.bool_]:
            chosen = np.zeros(here.vocab_size, dtype=np.bool_)
            chosen[here.members(number)] = True
            return chosen

        return look

    return {group.name: member(number) for number, group in enumerate(here.groups)}
