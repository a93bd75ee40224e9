"""What heads of `e2e` and `gpu` mean, which do not declare their columns (`columns.py`).

A head is explained by the first pattern that matches all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["meanings"]

_UNIT: Final = r"(?:ms|us)"
_HEADS: Final = (
    ("engine", "whose numbers"),
    ("source|part|pass", "what was measured"),
    ("tokens before|rows", "how many"),
    ("tokens", "how many were written"),
    (r"model at .*", "the calls of the model that remain"),
    (rf"compile .*, {_UNIT}", "from the text of the input to something that can be asked for masks"),
    (rf"mask(?:[ ,].*)?, {_UNIT}", "making one mask"),
    (rf"time to first token, {_UNIT}", "compiling the grammars of the batch, and the first step"),
    (rf"a token, .*, {_UNIT}", "a step of the batch, states seen for the first time"),
    (r".*, % more", "added to the free step of the same batch"),
    (r".*, 99th of 100, ms", "99 % of the steps take at most this"),
    (rf"free, {_UNIT}", "a token without any grammar"),
    (
        rf"(?:ours|xgrammar|llguidance|glrmask|maskforge|processor|accept and mask).*, {_UNIT}",
        "time of a step of this engine, or part",
    ),
    ("ours|ours, all logits|xgrammar|llguidance|glrmask|maskforge|ours, .*", "added to a free token, microseconds"),
    ("tokens a second", "all rows of a batch together"),
    ("of unconstrained, %", "tokens a second, as a share of those without a grammar"),
    ("device", "where the model and its logits are"),
    ("type", "of the logits"),
    ("model alone, ms", "the model's pass, without masks and draws"),
    ("steps", "how many were timed"),
    ("bytes a step|most", "for masks, of this batch: the mean of the steps, and the greatest"),
    ("as rows of bits", "bytes that a step would send if each row's mask were sent"),
    (rf"(?:auto|torch) .*, {_UNIT}", "one call of this kernel for all rows"),
    (rf"floor, {_UNIT}", "copying as many bytes as the kernel has to read and write, at this device's own speed"),
    (r".* / .*", "the first over the second; below 1 the first is less"),
)


def meanings(heads: Iterable[str]) -> dict[str, str]:
    """Those of `heads` that are explained."""
    found = {head: next((said for pattern, said in _HEADS if re.fullmatch(pattern, head)), "") for head in heads}
    return {head: said for head, said in found.items() if said}
