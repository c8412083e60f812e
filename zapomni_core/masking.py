"""What a client may read of a message: no places on this machine."""

import re

# As a shell is told of a path with a blank in it, or a quote: so our own messages show it.
_QUOTED = r"""(?<!\w)'[^'\n]*[/\\][^'\n]*'(?:"'"'[^'\n]*')*(?!\w)"""
_PLAIN = r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s'\",;]*[^\s'\",;.:)]"
PATH = re.compile(f"{_QUOTED}|{_PLAIN}")


def without_paths(text: str) -> str:
    """The text without the places on this machine; the log has them."""
    return PATH.sub("…", text)
