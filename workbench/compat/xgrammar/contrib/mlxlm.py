"""MLX is not supported: the name is here to say so."""

from __future__ import annotations

from typing import Any

from ..exception import UnsupportedFeatureError

__all__ = ["XGrammarLogitsProcessor"]


class XGrammarLogitsProcessor:
    """Refused: this project knows numpy and torch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnsupportedFeatureError(
            "contrib.mlxlm: MLX arrays are not supported; numpy and torch are", language="MLX"
        )
