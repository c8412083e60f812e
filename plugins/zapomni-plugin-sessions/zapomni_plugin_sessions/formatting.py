"""Formats sessions, documents and gaps as text."""

from datetime import UTC, datetime

from zapomni_core.plugin import counted
from zapomni_plugin_sessions.responses import DocumentAnswer, MessageAnswer


def minute(moment: datetime) -> str:
    """A moment to the minute, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def one_line(text: str) -> str:
    """A text in one line, without control characters."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def format_message(message: MessageAnswer) -> str:
    """The messages with their roles and times."""
    left = message.total_chars - len(message.content)
    more = f" … [{counted(left, 'more character')}: get_memory {message.message_id}]" if left else ""
    return f"{message.role} ({minute(message.created_at)}): {message.content}{more}"


def format_document(number: int, document: DocumentAnswer) -> str:
    """A document with its id and how much of it is shown."""
    score = "" if document.score is None else f"{document.score:.2f}"
    part = counted(document.total_chars, "character") if document.total_chars > len(document.content) else ""
    about = [document.document_id, f"{document.created_at:%Y-%m-%d}", score, part]
    return f"[{number}] {' · '.join(one for one in about if one)}\n{document.content.strip()}"
