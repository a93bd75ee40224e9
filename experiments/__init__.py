"""Experiments: modules that train, sweep and measure.

Start with `registry.py` (what an experiment is), `claims.py` (how it is judged), `running.py` (running one) and
`pages.py` (the report).  The demo model is in `demo_model`.
"""
