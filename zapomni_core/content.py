"""What MCP asks of the parts of a result beyond their type: resources, annotations, metadata, sizes.

A part that breaks a rule would fail where it is sent, as an error of the protocol that names no tool.
"""

from collections.abc import Callable
from typing import Any

_AUDIENCE = ("assistant", "user")
_THEMES = ("dark", "light")

Rules = dict[str, Callable[[Any], bool]]


def content_problem(result: dict[str, Any]) -> str | None:
    """What is wrong with a result whose shape was checked; None if nothing is. Never quotes it."""
    for number, part in enumerate(result["content"]):
        if broken := _broken(part, _PARTS) or _broken_resource(part):
            return f"content[{number}] has a '{broken}' that MCP does not allow"
    return None


def _broken(value: dict[str, Any], rules: Rules) -> str | None:
    """The first key whose value breaks its rule; what is None counts as left out."""
    return next((key for key in value.keys() & rules if value[key] is not None and not rules[key](value[key])), None)


def _broken_resource(part: dict[str, Any]) -> str | None:
    if part["type"] != "resource":
        return None
    resource = part["resource"]
    has_content = isinstance(resource.get("text"), str) or isinstance(resource.get("blob"), str)
    return (
        None
        if isinstance(resource.get("uri"), str) and has_content and not _broken(resource, _RESOURCE)
        else "resource"
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_annotations(value: Any) -> bool:
    return isinstance(value, dict) and _broken(value, _ANNOTATIONS) is None


def _is_audience(value: Any) -> bool:
    return isinstance(value, list) and all(one in _AUDIENCE for one in value)


def _is_priority(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _are_icons(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_icon, value))


def _is_icon(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("src"), str) and _broken(value, _ICON) is None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_ANNOTATIONS: Rules = {"audience": _is_audience, "priority": _is_priority, "lastModified": _is_text}
_ICON: Rules = {"mimeType": _is_text, "sizes": _are_texts, "theme": lambda value: value in _THEMES}
_RESOURCE: Rules = {"_meta": _is_object, "mimeType": _is_text}
_PARTS: Rules = {
    "_meta": _is_object,
    "annotations": _is_annotations,
    "description": _is_text,
    "icons": _are_icons,
    "mimeType": _is_text,
    "size": _is_size,
    "title": _is_text,
}
