"""`python -m workbench` or `python -m maskscope`, installed also as `maskscope`: the command line.

The commands are in `workbench.cli`.
"""

import sys
from importlib import metadata
from pathlib import Path

NAME = "maskscope"
EXTRAS = {
    "workbench": "this command line, notebooks, views, tokenizers",
    "generate": "real models (torch, transformers)",
    "models": "small real models by one word",
    "serve": "a server for OpenAI's clients; needs the two above",
    "gpu": "the kernel that puts masks on a GPU's logits",
    "distributed": "sweeps over several machines, tables as Parquet",
    "peers": "engines to measure against",
}
"""What each extra adds, for whoever has the engine alone."""


def main() -> None:
    try:
        from workbench.cli import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        without_a_command_line(sys.argv[1:], error.name)
    else:
        called = Path(sys.argv[0])
        app(prog_name=NAME if called.name == NAME else f"python -m {called.parent.name or __package__}")


def without_a_command_line(words: list[str], missing: str) -> None:
    """Say what is installed and what is not; help and version are no errors."""
    engine = f"the engine is installed (import kernels_core; version {metadata.version(NAME)})"
    lines = [f"{NAME}: {engine}, and its command line is not: {missing} is missing.", ""]
    commands = {f"pip install '{NAME}[{extra}]'": what for extra, what in EXTRAS.items()}
    lines += [f"  {command:<40}{what}" for command, what in commands.items()]
    text = "\n".join(lines)
    if set(words) <= {"-h", "--help", "--version", "version"}:
        print(text)
    else:
        sys.exit(text)


if __name__ == "__main__":
    main()
