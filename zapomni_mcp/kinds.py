"""What a memory is, where it is more than a plain one, in a few words."""


def kind_words(kind: str, role: str, conversation: str) -> str:
    """`message by user in session ID`, `document`; nothing for a plain memory, which needs no word."""
    if kind == "memory":
        return ""
    by = f" by {role}" if role else ""
    session = f" in session {conversation}" if kind == "message" and conversation else ""
    return f"{kind}{by}{session}"
