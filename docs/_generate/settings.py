"""Every key of the settings, from the descriptions in the model."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from zapomni_core.settings import (
    LLMSettings,
    OllamaEmbedderSettings,
    OpenAIEmbedderSettings,
    PluginsSettings,
    Settings,
    TelemetrySettings,
    ToolSettings,
)

TABLES: dict[str, tuple[str, type[BaseModel]]] = {
    "": ("Top level", Settings),
    "plugins.": ("`[plugins]`", PluginsSettings),
    "tools.NAME.": ("`[tools.NAME]`", ToolSettings),
    "llm.": ("`[llm]`", LLMSettings),
    "embedding.ollama.": ("`[embedding.ollama]`", OllamaEmbedderSettings),
    "embedding.openai.": ("`[embedding.openai]`", OpenAIEmbedderSettings),
    "telemetry.": ("`[telemetry]`", TelemetrySettings),
}
_INSIDE = {prefix.partition(".")[0] for prefix in TABLES}


def settings() -> str:
    """A Markdown table for each table of the settings file."""
    return "\n\n".join(_table(prefix, title, model) for prefix, (title, model) in TABLES.items())


def keys() -> Iterator[str]:
    """Every key that can be set, dotted."""
    for prefix, (_, model) in TABLES.items():
        yield from (f"{prefix}{name}" for name in model.model_fields if prefix or name not in _INSIDE)


def _table(prefix: str, title: str, model: type[BaseModel]) -> str:
    rows = [
        _row(f"{prefix}{name}", field, model)
        for name, field in model.model_fields.items()
        if prefix or name not in _INSIDE
    ]
    head = ["| key | environment | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"## {title}", "", model.__doc__ or "", "", *head, *rows])


def _row(key: str, field: FieldInfo, model: type[BaseModel]) -> str:
    meaning = (field.description or "") + _choices(model, key.rpartition(".")[2])
    return f"| `{key}` | `{_variable(key)}` | {_default(field)} | {meaning} |"


def _variable(key: str) -> str:
    return "ZAPOMNI_" + key.upper().replace(".", "__")


def _default(field: FieldInfo) -> str:
    value: Any = field.get_default(call_default_factory=True)
    if value is None:
        return "not set"
    return f"`{json.dumps(value)}`" if value not in ((), {}) else "empty"


def _choices(model: type[BaseModel], name: str) -> str:
    """The values to choose from, where the description does not already name them."""
    schema = model.model_json_schema()["properties"][name]
    values = [value for part in schema.get("anyOf", [schema]) for value in part.get("enum", [])]
    missing = [value for value in values if f"`{value}`" not in schema.get("description", "")]
    return " One of " + ", ".join(f"`{value}`" for value in values) + "." if missing else ""
