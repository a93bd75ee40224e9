"""placeholder docstring: filled by the compiler module."""
