"""Every number of the demo model's training, and a fingerprint of all of them with the text they produce.

The fingerprint is written beside the weights; a test recomputes it, so that shipped weights can never drift away from
the code that made them.  Read on: `train.py`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from experiments.demo_model.dialogues import Dialogue, dialogues


@dataclass(frozen=True)
class Recipe:
    """Data, tokenizer, model and optimiser.  Sizes are counts; `learning_rate` is AdamW's peak value."""

    dialogues: int = 32_000
    sloppiness: float = 0.4
    words: float = 0.3
    listed: float = 0.15
    data_seed: int = 1

    vocabulary: int = 1_024
    context: int = 1_024

    hidden: int = 192
    layers: int = 5
    heads: int = 6
    key_value_heads: int = 2
    intermediate: int = 512

    batch: int = 32
    steps: int = 2_400
    warmup: int = 80
    learning_rate: float = 2.5e-3
    weight_decay: float = 0.05
    clip_norm: float = 1.0
    threads: int = 1  # on busy cores two threads spend their time waiting for each other
    training_seed: int = 7

    def corpus(self) -> list[Dialogue]:
        """The training dialogues, in the order in which they were generated."""
        return list(
            dialogues(
                self.dialogues,
                seed=self.data_seed,
                sloppiness=self.sloppiness,
                words=self.words,
                listed=self.listed,
            )
        )

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the settings and of the corpus' text; the grammar and the code's layout do not enter."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode())
        for dialogue in self.corpus():
            digest.update(f"{dialogue.prompt}\0{dialogue.answer}\0".encode())
        return digest.hexdigest()
