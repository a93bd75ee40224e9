"""`python -m workbench`: the command line.  The commands are in `workbench.cli`."""

import sys


def main() -> None:
    try:
        from workbench.cli import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        sys.exit(f"maskscope: {error.name} is not installed. Run: pip install 'maskscope[workbench]' (or: make venv)")
    app(prog_name="python -m workbench")


if __name__ == "__main__":
    main()
