"""What `python -m workbench` offers of this package: `experiment`, by name in `COMMANDS`."""

from experiments.cli import experiment

__all__ = ["COMMANDS"]

COMMANDS = {"experiment": experiment.app}
