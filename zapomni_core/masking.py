"""What a client may read of a message: no places on this machine."""

import re

PATH = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s'\",;]*[^\s'\",;.:)]")


def without_paths(text: str) -> str:
    """The text without the places on this machine; the log has them."""
    return PATH.sub("…", text)
