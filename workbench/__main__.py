"""`python -m workbench`, installed also as `maskscope`: the command line.  The commands are in `workbench.cli`."""

import sys
from pathlib import Path

NAME = "maskscope"


def main() -> None:
    try:
        from workbench.cli import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        sys.exit(f"maskscope: {error.name} is not installed. Run: pip install 'maskscope[workbench]' (or: make venv)")
    app(prog_name=NAME if Path(sys.argv[0]).name == NAME else f"python -m {__package__}")


if __name__ == "__main__":
    main()
