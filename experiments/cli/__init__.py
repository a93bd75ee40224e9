"""What `python -m workbench` offers of this package: `experiment` and `bench`, by name in `COMMANDS`."""

from experiments.cli import bench, experiment

__all__ = ["COMMANDS"]

COMMANDS = {"experiment": experiment.app, "bench": bench.app}
