"""What `python -m workbench` offers of this package: `experiment` and `study`, by name in `COMMANDS`."""

from experiments.cli import experiment, study

__all__ = ["COMMANDS"]

COMMANDS = {"experiment": experiment.app, "study": study.app}
