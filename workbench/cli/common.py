"""What the commands share: reading a source, the text and the tokenizer; reporting mistakes; tables of 100 columns.

All have one form: `COMMAND SOURCE [TEXT]`.  SOURCE is a grammar (a file, or the text itself); TEXT is a text, and files
are read by `--text-file`; `-` is standard input.  `--tokenizer` or `--model` say whose tokens, `--json` prints JSON.
Exit codes: 0 fine; 1 refused, or different; 2 the command itself is at fault (no such file, unknown tokenizer).

Read on: `workbench/cli/checking.py`, `workbench/cli/comparing.py`, `workbench/cli/generating.py`.
"""

from __future__ import annotations

import json
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, get_type_hints

import typer
from rich.console import Console, RenderableType
from rich.text import Text
from typer.models import ArgumentInfo

from visualizers.glyphs import many

if TYPE_CHECKING:
    from workbench.languages import Source
    from workbench.languages.mistakes import Mistake
    from workbench.session import Session
    from workbench.tokenizers import Tokenizer

FINE: Final = 0
DIFFERENT: Final = 1
USAGE: Final = 2
WIDTH: Final = 100
_AS_JSON: Final[ContextVar[bool]] = ContextVar("_AS_JSON", default=False)
"""Whether the command that runs was asked for JSON: `reporting` says so."""

Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        help="Of SOURCE: ebnf, lark, regex, json_schema, structural_tag, tools. Guessed where it is not said.",
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option("--start", help="Of EBNF and Lark: the rule that a whole text matches.", show_default="root, start"),
]
TokenizerOption = Annotated[
    str,
    typer.Option(
        "--tokenizer",
        "-t",
        help="A name (tekken, demo, smollm2), or a path: tokenizer.json, *.tiktoken, *.model, a model's folder.",
    ),
]
ModelOption = Annotated[
    str, typer.Option("--model", "-m", help="demo, smollm2, a folder, a cached name, or random:...")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Exact = Annotated[bool, typer.Option("--exact", help="Keep the line end at the end of a file.")]


# -- what commands are given ------------------------------------------------------------------------------------------


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """`command`, whose first parameter is a dataclass, with an argument or an option for each field of that class.

    Behind the arguments stand the command's own options, and then those of the class.  A field that says nothing to
    typer has its help, and the least value, in its metadata.
    """
    first, *own = signature(command, eval_str=True).parameters.values()
    kind, hints = first.annotation, get_type_hints(first.annotation, include_extras=True)
    arguments: list[Parameter] = []
    options: list[Parameter] = []
    for one in fields(kind):
        hint = hints[one.name]
        if "help" in one.metadata:
            least = None if hint is bool else one.metadata["min"]
            hint = getitem(Annotated, (hint, typer.Option(help=one.metadata["help"], min=least)))
        default = Parameter.empty if one.default is MISSING else one.default
        made = Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        (arguments if isinstance(hint.__metadata__[0], ArgumentInfo) else options).append(made)

    @wraps(command)
    def call(**given: Any) -> None:
        command(kind(**{one.name: given.pop(one.name) for one in fields(kind)}), **given)

    parameters = [*arguments, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *options]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


@dataclass(frozen=True, kw_only=True)
class OnSource:
    """What every command on a SOURCE is given."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A grammar in any language: a file, - for standard input, or the text itself.",
            show_default=False,
        ),
    ]
    language: Language = None
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class OnTexts(OnSource):
    """Any number of texts beside it."""

    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; - is standard input.", show_default=False)
    ] = None
    text_file: Annotated[
        list[str] | None,
        typer.Option("--text-file", "-f", help="A text from a file, without its last line end. Again for each."),
    ] = None
    exact: Exact = False
    tokenizer: TokenizerOption = "tekken"

    def read(self) -> list[tuple[str, bytes]]:
        """The texts, each with its name."""
        return read_texts(self.source, self.texts, self.text_file, exact=self.exact)


@dataclass(frozen=True, kw_only=True)
class OnText(OnSource):
    """One text beside it."""

    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text, or - for standard input.", show_default=False)
    ] = None
    text_file: Annotated[
        str | None,
        typer.Option("--text-file", "-f", help="The text from a file, without its last line end.", show_default=False),
    ] = None
    exact: Exact = False
    start: Start = None

    def read(self) -> bytes | None:
        """The text; None where there is none."""
        if self.text is not None and self.text_file is not None:
            fail("give TEXT or --text-file, not both")
        texts, files = ([one] if one is not None else None for one in (self.text, self.text_file))
        given = read_texts(self.source, texts, files, exact=self.exact)
        return given[0][1] if given else None


@dataclass(frozen=True, kw_only=True)
class AtPlace(OnText):
    """The place behind a text."""

    as_generated: Annotated[
        bool, typer.Option("--as-generated", help="Of a schema or tools, ask the grammar that `generate` writes under.")
    ] = False
    tokenizer: TokenizerOption = "tekken"

    def session(self) -> Session:
        """A session at the beginning of the text."""
        return open_session(
            self.source, self.language, self.tokenizer, start=self.start, as_generated=self.as_generated
        )


# -- what they say ----------------------------------------------------------------------------------------------------


def output() -> Console:
    """A console for tables: as wide as the terminal, at most 100 columns."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal or console.width > WIDTH:
        console = Console(highlight=False, width=WIDTH)
    return console


def say_json(value: object) -> None:
    """Print `value` as JSON; bytes that are no text are written as `bytes.fromhex` reads them."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def say(data: object, shown: RenderableType | Callable[[], RenderableType]) -> None:
    """What a command has found: `data` where JSON was asked for, else `shown`, or what that makes."""
    if _AS_JSON.get():
        say_json(data)
    else:
        output().print(shown() if callable(shown) else shown)


def _plain(value: object) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if hasattr(value, "item"):  # numbers of numpy
        return value.item()
    return str(value)


def fail(message: str, *, code: int = USAGE, details: RenderableType = "", **more: object) -> NoReturn:
    """Say what is wrong and end the command: on standard error with `details` below, or as JSON with `more`."""
    if _AS_JSON.get():
        say_json({"error": message, **more})
    else:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(Text.assemble(("error: ", "bold red"), message))
        if details:
            console.print(details)
    raise typer.Exit(code)


@contextmanager
def reporting(as_json: bool = False) -> Iterator[None]:
    """Turn what bad input raises into a message and an exit code; a fault of ours is still a traceback.

    as_json: within it, `fail` writes JSON.
    """
    from kernels_core.errors import MaskscopeError, TokenizerError
    from workbench.languages.positions import JsonSyntaxError

    before = _AS_JSON.set(as_json)
    try:
        yield
    except TokenizerError as error:
        fail(str(error))
    except (MaskscopeError, JsonSyntaxError) as error:
        notes = [str(note) for note in getattr(error, "__notes__", ())]
        fail("\n  ".join([str(error), *notes]) if not as_json else str(error), code=DIFFERENT)
    except OSError as error:
        shown = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        fail(shown)
    except UnicodeDecodeError as error:
        fail(f"not UTF-8 at byte {error.start}: {error.reason}")
    except KeyboardInterrupt:
        fail("interrupted", code=130)
    finally:
        _AS_JSON.reset(before)


def open_source(where: str, language: str | None, *, start: str | None = None) -> Source:
    """SOURCE as the person gave it, whose texts begin at the rule `start`; mistakes are not looked for yet."""
    from workbench.languages import Source

    try:
        if where == "-":
            found = Source.of(sys.stdin.buffer.read(), language)
        else:
            found = Source.of(Path(where) if is_file(where) else where, language)
    except (FileNotFoundError, IsADirectoryError, TypeError, ValueError) as error:
        said = str(error).replace("language='regex'", "-l regex")
        fail(f"{said}; - reads standard input" if isinstance(error, OSError) else said)
    if start is not None:
        option = {"ebnf": "root_rule_name", "lark": "start"}.get(found.language)
        if option is None:
            fail(f"--start is for EBNF and Lark, and SOURCE is read as {found.title}")
        found = replace(found, options={**found.options, option: start})
    if language is None and not _AS_JSON.get() and not found.why.startswith("the file's name"):
        note = f"{found.name or 'SOURCE'} is read as {found.title}: {found.why}"
        Console(stderr=True, highlight=False, soft_wrap=True).print(Text(note, "dim"))
    return found


def open_session(
    where: str, language: str | None, tokenizer: str, *, start: str | None = None, as_generated: bool = False
) -> Session:
    """A session at the beginning; mistakes in the source end the command with all their locations.

    as_generated: the grammar is that of `generate` and the server, which leave a schema fewer spellings.
    """
    from kernels_core import Options
    from kernels_core.compiler import told_elsewhere
    from workbench.session import Session
    from workbench.tokenizers import load_tokenizer

    loaded = load_tokenizer(tokenizer)
    source = open_checked(where, language, loaded, start=start)
    with told_elsewhere():  # commands show what is to be warned of by themselves
        return Session(source.for_a_model() if as_generated else source, loaded, options=Options())


def open_checked(where: str, language: str | None, tokenizer: Tokenizer, *, start: str | None = None) -> Source:
    """SOURCE, in which there are no mistakes; they end the command with all their locations."""
    source = open_source(where, language, start=start)
    if mistakes := source.check(tokenizer.info):
        lines = [f"{source.title} {source.name or 'source'} has {many(len(mistakes), 'mistake')}:"]
        mistakes = tuple(map(_as_commands_have_it, mistakes))
        lines += [f"  {mistake}" for mistake in mistakes[:20]]
        if len(mistakes) > 20:
            lines.append(f"  and {len(mistakes) - 20} more")
        data = [mistake_data(mistake) for mistake in mistakes]
        fail("\n".join(lines), code=DIFFERENT, language=source.language, mistakes=data)
    return source


def _as_commands_have_it(mistake: Mistake) -> Mistake:
    """A mistake whose cures are those of commands: none reads leniently, and the rule of a text has an option."""
    if mistake.cure.startswith("with lenient=True"):
        return replace(mistake, cure="")
    if mistake.cure.startswith("name the root rule"):
        message = re.sub(r": pass start='([^']*)'", r": pass --start \1", mistake.message)
        return replace(mistake, message=message, cure="name it by --start, or call a rule so")
    return mistake


def mistake_data(mistake: Mistake) -> dict[str, Any]:
    """A mistake, or a warning, as JSON has it."""
    return {name: getattr(mistake, name) for name in ("message", "cure", "line", "column", "start", "end", "pointer")}


def read_texts(
    source: str, texts: list[str] | None, files: list[str] | None, *, exact: bool
) -> list[tuple[str, bytes]]:
    """What TEXT and `--text-file` give, each with its name.

    A file, and standard input, has no line end at its end and no byte order mark unless it is `exact`: an editor puts
    them there, and nobody means them.
    """

    def read(name: str) -> tuple[str, bytes]:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        data = data if exact else data.removeprefix(BOM_UTF8).removesuffix(b"\n").removesuffix(b"\r")
        return "standard input" if name == "-" else name, data

    given = [*(texts or ()), *(files or ())]
    if (source, *given).count("-") > 1:
        fail("standard input can be read once: only one of SOURCE, TEXT and --text-file may be -")
    found = []
    for text in texts or ():
        if text == "-":
            found.append(read(text))
        elif is_file(text):
            fail(f"{text!r} is a file: read it by --text-file {text}, or write it first if it is SOURCE")
        else:
            found.append(("text", text.encode(errors="surrogateescape")))
    return found + [read(name) for name in files or ()]


def is_file(name: str) -> bool:
    """Whether there is such a file; a text may be too long for a name."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False
