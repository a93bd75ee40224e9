"""Experiments: modules that train, sweep and measure.  Start with `experiments/demo_model`."""
