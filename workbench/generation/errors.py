"""What loading and running models raises."""

from __future__ import annotations

from kernels_core.errors import MaskscopeError


class ModelError(MaskscopeError, RuntimeError):
    """A model cannot be loaded, or cannot do what was asked of it; the message says why and what to do."""


class PromptTooLongError(ModelError):
    """A prompt leaves the model no room for an answer."""


class BeginningError(MaskscopeError, ValueError):
    """A text that a generation was to begin with cannot be taken; the message says which token, where and why."""
