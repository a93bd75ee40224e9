"""Masks of several engines, grammars or places side by side, and a search for texts on which engines disagree.

    wb.compare(schema, engines=["ours", "xgrammar"], text='{"name": "')   # the masks at one place
    wb.compare(old_grammar, new_grammar, text="call ")                    # two grammars
    wb.compare(grammar, texts=["", "call "])                              # two places
    wb.hunt(schema, engines=["ours", "xgrammar"], seconds=10)             # a minimal text they disagree on
    wb.ablate(schema, prompts, model="smollm2")                           # what our mechanisms are worth

Code map, in reading order: `sides` (what is compared, and an engine asked at a place),
`differences` (tokens grouped by where they part, with our explanation), `comparison` (`compare` and its result);
`texts` (texts worth trying, and their shrinking), `hunting` (`hunt`), `finding` (what was found), `referee` (who is
right); `ablating` (our engine with mechanisms left out), `factorial` (effects over all combinations).
"""

from __future__ import annotations

from workbench.comparing.ablating import Ablation, ablate
from workbench.comparing.comparison import Comparison, compare
from workbench.comparing.finding import Finding, Hunt
from workbench.comparing.hunting import hunt

__all__ = ["Ablation", "Comparison", "Finding", "Hunt", "ablate", "compare", "hunt"]
