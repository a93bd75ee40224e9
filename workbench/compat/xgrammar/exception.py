"""Errors as XGrammar's users catch them: every failure of a grammar, a schema or a tag is a `RuntimeError` there.

The engine's errors are `ValueError`s that say where and why.  `runtime_errors` raises them again as classes that are
both, so `except RuntimeError`, `except ValueError` and `except kernels_core.GrammarError` all catch the same object.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kernels_core import errors

from .phrases import head_of, phrase_of, schema_phrase_of


class DeserializeFormatError(RuntimeError):
    """Serialised text lacks something, or was written for another vocabulary."""


class DeserializeVersionError(RuntimeError):
    """Serialised text of another version, or of another library."""


class InvalidArgumentError(ValueError, RuntimeError):
    """An argument is out of range or of the wrong shape."""


class GrammarError(errors.GrammarError, RuntimeError):
    """`kernels_core.GrammarError` as a `RuntimeError`; it says where as XGrammar's own do."""

    def __str__(self) -> str:
        text = super().__str__()
        here = f"{self.language}, line {self.line}, column {self.column}: "
        if self.line is None or self.column is None or self.offset is None or not text.startswith(here):
            return text
        head = head_of(self.language, self.line, self.column, self.offset, self.reason)
        there = (self.source or "")[self.offset : self.offset + 1]
        phrase = phrase_of(self.language, self.reason, there)
        return f"{head}: {phrase}{': ' if phrase else ''}{text.removeprefix(here)}" if head else text


class GrammarSyntaxError(errors.GrammarSyntaxError, GrammarError):
    """`kernels_core.GrammarSyntaxError` as a `RuntimeError`."""


class InvalidJSONError(GrammarSyntaxError):
    """A text that must be JSON is not; located as any syntax error."""

    def __str__(self) -> str:
        return f"Invalid JSON error: Failed to parse JSON: {super().__str__()}"


class UnsupportedFeatureError(errors.UnsupportedFeatureError, GrammarError):
    """`kernels_core.UnsupportedFeatureError` as a `RuntimeError`: the thing has a name, and is not there."""


class InvalidStructuralTagError(errors.InvalidStructuralTagError, GrammarError):
    """A structural tag is malformed; `path` is the JSON pointer of what is at fault, `phrase` what XGrammar says."""

    phrase = ""

    def __str__(self) -> str:
        phrase = f"{self.phrase}: " if self.phrase else ""
        return f"Invalid structural tag error: {phrase}{super().__str__()}"


class UnsupportedSchemaError(errors.UnsupportedSchemaError, RuntimeError):
    """`kernels_core.UnsupportedSchemaError` as a `RuntimeError`; `problems` lists every reason."""

    def __str__(self) -> str:
        told = (schema_phrase_of(problem.keyword, problem.reason) for problem in self.problems[:20])
        phrases = "; ".join(dict.fromkeys(phrase for phrase in told if phrase))
        return f"{phrases}{': ' if phrases else ''}{super().__str__()}"


class TokenizerError(errors.TokenizerError, RuntimeError):
    """`kernels_core.TokenizerError` as a `RuntimeError`."""


# By exact type: what is not listed is a RuntimeError already, or means a mistake of ours that nothing should hide.
_AS_RUNTIME_ERROR: dict[type[Exception], type[Exception]] = {
    ValueError: InvalidArgumentError,
    errors.GrammarError: GrammarError,
    errors.GrammarSyntaxError: GrammarSyntaxError,
    errors.InvalidStructuralTagError: InvalidStructuralTagError,
    errors.TokenizerError: TokenizerError,
    errors.UnsupportedFeatureError: UnsupportedFeatureError,
    errors.UnsupportedSchemaError: UnsupportedSchemaError,
}


def as_runtime_error(error: Exception) -> Exception:
    """The error as one of the classes above; the message, the attributes and the traceback stay."""
    kind = _AS_RUNTIME_ERROR.get(type(error))
    if kind is None:
        return error
    if isinstance(error, errors.GrammarSyntaxError) and error.language == "JSON":
        kind = InvalidJSONError
    renamed = kind.__new__(kind, *error.args)
    renamed.__dict__.update(error.__dict__)
    return renamed.with_traceback(error.__traceback__)


@contextmanager
def runtime_errors() -> Iterator[None]:
    """Raise the engine's errors as `as_runtime_error` has them."""
    try:
        yield
    except Exception as error:
        raise as_runtime_error(error) from error.__cause__
