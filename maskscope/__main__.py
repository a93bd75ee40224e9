"""`python -m maskscope`: the command line, as `maskscope` itself."""

from workbench.__main__ import main

if __name__ == "__main__":
    main()
