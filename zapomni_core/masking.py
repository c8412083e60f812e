"""What a client may read of a message: no places on this machine."""

import re

# As a shell is told of a path with a blank in it, or a quote: so our own messages show it.
_QUOTED = r"""(?<!\w)'[^'\n/\\]*[/\\][^'\n]*'(?:"'"'[^'\n]*')*(?!\w)"""
_WEB = r"(?P<web>https?://(?![^\s'\",;]*[@?])[^\s'\",;]+)"  # no place on this machine, and no secret in it
_PLAIN = r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s'\",;]*[^\s'\",;.:)]"
_PATH = re.compile(f"{_WEB}|{_QUOTED}|{_PLAIN}")


def without_paths(text: str) -> str:
    """The text without the places on this machine; the log has them."""
    return _PATH.sub(lambda found: found["web"] or "…", text)
