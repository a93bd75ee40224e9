"""The name under which this room knows `..regular.languages`."""

from ..regular.languages import *  # noqa: F403
