"""Other libraries' programming interfaces over the engine: change one import, and a program runs here.

`workbench.compat.xgrammar` speaks as XGrammar 0.2.8 does; what differs is in docs/compat-xgrammar.md.
"""
