"""What `python -m workbench` offers of this package: `experiment`, `bench` and `soak`, by name in `COMMANDS`."""

from experiments.cli import bench, experiment, soak

__all__ = ["COMMANDS"]

COMMANDS = {"experiment": experiment.app, "bench": bench.app, "soak": soak.app}
