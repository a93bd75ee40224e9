"""Fuzzing: bytes to each door of the engine, and what has to hold whatever they say.

    python -m tests.fuzz                              # the targets
    python -m tests.fuzz lark --minutes 60            # a long hunt; with atheris it is guided by coverage
    python -m tests.fuzz lark --seed 7 --inputs 500   # the same 500 inputs on every machine
    python -m tests.fuzz lark --input build/fuzz/lark/finding-...

One target for each input language (`languages.py`), for vocabularies and files that strangers may send (`files.py`),
and for the calls of matchers over several grammars and threads (`calls.py`).  `rules.py` says what has to hold,
`seeds.py` makes inputs worth changing, `driver.py` runs a target, with atheris (`pip install '.[fuzz]'`) or without.
What a run collects lies in `build/fuzz/TARGET`, outside git: the corpus, and what broke a rule.

`test_fuzz.py` runs each target for some seconds; a finding is mended with a test of its own in the room it concerns.
"""
