"""Requests made to hurt, at every door that a person or a program uses.

`cases.py` lists them, `doors.py` brings one to a door and measures what becomes of it, `test_hostile.py` holds the
answers, and `python -m tests.hostile --write` writes them down in docs/hostile-inputs.md.
"""
