"""Every error the engine raises on purpose.  All derive from `MaskscopeError`; each says what, where and what to do.

`GrammarSyntaxError` and its kin also derive from `ValueError`, so that code which catches that still works.
"""

from __future__ import annotations

from dataclasses import dataclass


class MaskscopeError(Exception):
    """Base class of all errors raised on purpose.  All of them pickle, with their attributes and notes, whatever their
    constructors take: a process pool hands them on as they are."""

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[MaskscopeError], args: tuple[object, ...], attributes: dict[str, object]) -> MaskscopeError:
    """An error with these arguments and attributes, made without its constructor."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class GrammarError(MaskscopeError, ValueError):
    """A grammar is well-formed text but not usable: an undefined rule, an empty language, ...

    Where the location is known the message shows the source line with a caret, and `source`, `offset` (0-based, in
    characters), `line` and `column` (1-based) are set; otherwise they are None.  `reason` is the message without the
    picture.  `needs_vocabulary`: it was read without a vocabulary, and with one there may be nothing wrong with it.
    """

    def __init__(
        self,
        reason: str,
        source: str | None = None,
        offset: int | None = None,
        *,
        language: str = "EBNF",
        needs_vocabulary: bool = False,
    ) -> None:
        self.reason = reason
        self.needs_vocabulary = needs_vocabulary
        self.source = source
        self.offset = offset
        self.language = language
        self.line: int | None = None
        self.column: int | None = None
        message = reason
        if source is not None and offset is not None:
            offset = self.offset = max(0, min(offset, len(source)))
            start = source.rfind("\n", 0, offset) + 1
            end = source.find("\n", offset)
            text = source[start:] if end < 0 else source[start:end]
            self.line = source.count("\n", 0, offset) + 1
            self.column = offset - start + 1
            shown, caret = _window(text, offset - start)
            message = f"{language}, line {self.line}, column {self.column}: {reason}\n  {shown}\n  {' ' * caret}^"
        super().__init__(message)


class GrammarSyntaxError(GrammarError):
    """A grammar's text is malformed; always located: `GrammarSyntaxError(reason, source, offset, language=...)`."""


class UnsupportedFeatureError(GrammarError):
    """The construct is known but not built yet (or not regular); nothing is approximated in silence."""


class InvalidStructuralTagError(GrammarError):
    """A structural tag is malformed; `path` is the JSON pointer of what is at fault, as in `#/format/elements/1`."""

    def __init__(self, reason: str, path: str, *, needs_vocabulary: bool = False) -> None:
        self.path = path
        super().__init__(f"{path}: {reason}", language="structural tag", needs_vocabulary=needs_vocabulary)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One keyword of a JSON schema that cannot be compiled exactly.

    `pointer` is the schema it stands in (a JSON pointer as a URI fragment), `lenient` says what `lenient=True` does
    about it.  `is_malformed`: no reader of schemas takes it, while others are conditions that no grammar can say.
    """

    pointer: str
    keyword: str
    reason: str
    lenient: str
    is_malformed: bool = False

    @property
    def is_hopeless(self) -> bool:
        """Whether `lenient=True` does nothing about it."""
        return self.lenient == NO_INSTANCE

    def __str__(self) -> str:
        place = f"{self.pointer}, {self.keyword}: {self.reason}"
        return place if self.is_hopeless else f"{place} (lenient=True: {self.lenient})"


NO_INSTANCE = "there is no instance to write"
"""What `SchemaProblem.lenient` says where leaving a keyword out does not help."""


@dataclass(frozen=True, slots=True)
class GrammarNote:
    """What a grammar says that its author hardly means: no error, and the grammar means what it says.

    `offset` (0-based, in characters), `line` and `column` (1-based) are locations in its text, None where that is not
    known; `pointer` is the JSON pointer of a grammar inside a structural tag.
    """

    reason: str
    offset: int | None = None
    line: int | None = None
    column: int | None = None
    pointer: str = ""

    def __str__(self) -> str:
        if self.pointer:
            return f"{self.pointer}: {self.reason}"
        return self.reason if self.line is None else f"line {self.line}, column {self.column}: {self.reason}"


class MisspeltKeyword(GrammarNote):
    """A keyword of a schema that forbids less than its author means: it looks misspelt, its draft does not know it, or
    its format is not checked.  `pointer` is that of the keyword."""


class GrammarWarning(UserWarning):
    """The category of the warnings that compiling a grammar gives, one for each `GrammarNote`."""


class UnsupportedSchemaError(MaskscopeError, ValueError):
    """A JSON schema has no exact grammar here, or no instance at all; `problems` lists every reason."""

    def __init__(self, problems: tuple[SchemaProblem, ...]) -> None:
        self.problems = problems
        super().__init__(self._said([str(problem) for problem in problems[:20]]))

    @property
    def strictly(self) -> str:
        """The message for who cannot ask for `lenient=True`."""
        return self._said([f"{one.pointer}, {one.keyword}: {one.reason}" for one in self.problems[:20]])

    def _said(self, shown: list[str]) -> str:
        lines = "".join(f"\n  {problem}" for problem in shown)
        more = f"\n  ... and {len(self.problems) - 20} more" if len(self.problems) > 20 else ""
        count = "one reason" if len(self.problems) == 1 else f"{len(self.problems)} reasons"
        return f"the schema cannot be compiled exactly, for {count}:{lines}{more}"


class TokenizerError(MaskscopeError, ValueError):
    """A vocabulary could not be read as bytes."""


class BudgetExceededError(MaskscopeError, RuntimeError):
    """A compile or a fill went past its budget.  The object it was asked of is unchanged.

    `what` names the budget ("automaton states", "bytes of parser states", "milliseconds", ...), `limit` its value.
    """

    def __init__(self, what: str, limit: int, where: str) -> None:
        self.what = what
        self.limit = limit
        self.where = where
        super().__init__(f"{where}: more than {limit:,} {what}. Raise the limit in Options, or simplify the grammar.")


class OperationCancelledError(MaskscopeError, RuntimeError):
    """A compile or a fill was called off by its `CancelToken`.  The object it was asked of is unchanged."""


class DeadEndError(MaskscopeError, RuntimeError):
    """No token of the vocabulary can continue the text, and the grammar does not allow it to end here."""


class TooFewTokensError(MaskscopeError, ValueError):
    """No text is certain to end within `max_tokens` tokens: the shortest that was found takes `shortest`."""

    def __init__(self, shortest: int, max_tokens: int) -> None:
        self.shortest = shortest
        self.max_tokens = max_tokens
        super().__init__(
            f"the shortest text that was found under the grammar takes {_tokens(shortest)}, and {max_tokens:,} may be "
            f"written: allow at least {_tokens(shortest)}, or let the answer be cut"
        )


class MatcherTerminatedError(MaskscopeError, RuntimeError):
    """A matcher that has taken its stop token was asked for more."""


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count:,} tokens"


def _window(text: str, column: int, width: int = 100) -> tuple[str, int]:
    """Cut a long line around `column`; returns the cut and the caret's place in it.  Tabs become one blank."""
    text = text.replace("\t", " ")
    if len(text) <= width:
        return text, column
    start = max(0, min(column - width // 2, len(text) - width))
    cut = text[start : start + width]
    left = "..." if start else ""
    right = "..." if start + width < len(text) else ""
    return f"{left}{cut}{right}", column - start + len(left)


class PredicateError(MaskscopeError):
    """A `Predicate` raised an error when it was asked about `text`, read as `rule`: the cause of this one, and its
    `reason` in words.

    The matcher is as it was.  `text` is None where it was asked for what it remembers at first, or whether it remembers
    the same in two readings.
    """

    def __init__(self, rule: str, text: bytes | None, reason: str) -> None:
        self.rule = rule
        self.text = text
        self.reason = reason
        asked = f"of rule {rule!r} raised" if text is None else f"of rule {rule!r} raised, for the text {text!r},"
        super().__init__(f"the predicate {asked} {reason}")


class PoolFileError(MaskscopeError, ValueError):
    """A file of token sets (`GrammarCompiler.load_pool`) cannot be used: `path`, and the `reason` in words."""

    def __init__(self, path: object, reason: str) -> None:
        self.path = str(path)
        self.reason = reason
        super().__init__(f"{path} {reason}")
