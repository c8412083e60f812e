"""The registered tools by name, and the rules for tools with their messages."""

import difflib
import inspect
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from zapomni_core.errors import UnknownToolError
from zapomni_core.host.schemas import check_schema, is_json, validator

log = logging.getLogger("zapomni.registry")

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]*")
NAME_LENGTH = 50
DESCRIPTION_LENGTH = (10, 500)
INSTRUCTIONS_LENGTH = 200
# Unicode's default ignorable characters, without the variation selectors that emoji need; control characters other than
# white space; and interlinear annotation marks.
HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
CHARACTERS_PER_TOKEN = 4
LARGE_TOOL_TOKENS = 250
MANGLED = ("$ref", "allOf", "anyOf", "oneOf")
"""Keywords of input schemas that some clients cannot convert for their model."""


@dataclass(frozen=True)
class CheckedTool:
    """A tool that meets the rules. Its attributes were copied at registration: later changes to the tool have no effect."""

    tool: Any
    name: str
    description: str
    input_schema: dict[str, Any]
    execute: Callable[[dict[str, Any]], Any] = field(repr=False)
    title: str | None = None
    output_schema: dict[str, Any] | None = None
    annotations: Mapping[str, bool] = field(default_factory=dict)
    timeout_seconds: float | None = None
    unlisted_arguments: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    plugin: str = ""

    @cached_property
    def arguments_validator(self) -> Any:
        """The validator of arguments, made at the first call."""
        properties = {**self.input_schema["properties"], **self.unlisted_arguments}
        return validator({**self.input_schema, "properties": properties})

    @cached_property
    def output_validator(self) -> Any:
        """The validator of structured results, made at the first call; None without an output schema."""
        return validator(self.output_schema) if self.output_schema is not None else None


class ToolRegistry:
    """Tools by name, in the order of registration."""

    def __init__(self) -> None:
        self._tools: dict[str, CheckedTool] = {}

    def register(self, tool: Any, *, plugin: str = "") -> CheckedTool:
        """Check one tool and add it. Raises TypeError or ValueError if it breaks a rule."""
        checked = check_tool(tool, taken=self._tools.__contains__, plugin=plugin)
        self.take([checked])
        return checked

    def take(self, tools: list[CheckedTool]) -> None:
        """Add tools that have been checked."""
        for tool in tools:
            self._tools[tool.name] = tool
            log.info("tool_registered", extra={"tool_name": tool.name, "total_tools": len(self._tools)})

    def withdraw(self, plugin: str) -> list[str]:
        """Remove a plugin's tools; returns their names."""
        gone = [tool.name for tool in self if tool.plugin == plugin]
        for name in gone:
            del self._tools[name]
        return gone

    def get(self, name: str) -> CheckedTool:
        """The tool of that name. Raises UnknownToolError, which names similar tools."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(name[:100], difflib.get_close_matches(name[:100], self._tools, n=2))
        return tool

    def owner(self, name: str) -> str | None:
        """The plugin that owns the tool of that name; None if the name is free."""
        return self._tools[name].plugin if name in self._tools else None

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[CheckedTool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)


def check_tool(tool: Any, *, taken: Callable[[str], bool], plugin: str = "", name: str | None = None) -> CheckedTool:
    """Check a tool; `name` replaces its own name.

    Raises TypeError for a missing attribute, ValueError for a wrong one.
    """
    if not hasattr(tool, "name") or not hasattr(tool, "description"):
        raise TypeError("Tool must have 'name' and 'description' attributes")
    if not hasattr(tool, "input_schema"):
        raise TypeError("Tool must have 'input_schema' and 'execute' attributes")
    offered = check_name(tool.name)
    chosen = check_name(name) if name else offered
    if taken(chosen):
        raise ValueError(f"Tool '{chosen}' already registered")
    return CheckedTool(
        tool=tool,
        name=chosen,
        description=check_description(tool.description),
        input_schema=_check_input_schema(tool.input_schema),
        execute=_check_execute(tool),
        title=_check_title(getattr(tool, "title", None)),
        output_schema=_check_output_schema(getattr(tool, "output_schema", None)),
        annotations=_check_annotations(getattr(tool, "annotations", None)),
        timeout_seconds=_check_timeout(getattr(tool, "timeout_seconds", None)),
        unlisted_arguments=_check_unlisted(getattr(tool, "unlisted_arguments", None)),
        instructions=_check_instructions(getattr(tool, "instructions", None)).replace(offered, chosen),
        meta=_check_meta(getattr(tool, "meta", None)),
        plugin=plugin,
    )


def check_name(name: Any) -> str:
    """Return the name if it is valid."""
    if not isinstance(name, str):
        raise ValueError(f"Tool name must be string, got {type(name)}")  # noqa: TRY004 (the contract says ValueError)
    if not 1 <= len(name) <= NAME_LENGTH:
        raise ValueError(f"Tool name length must be 1-{NAME_LENGTH} chars, got {len(name)}")
    if not NAME_PATTERN.fullmatch(name):
        raise ValueError(f"Tool name '{name}' invalid (must be lowercase, alphanumeric, underscores)")
    return name


def check_description(description: Any) -> str:
    """Return the description if it is readable text of the right length, without hidden characters."""
    shortest, longest = DESCRIPTION_LENGTH
    if not isinstance(description, str):
        raise ValueError("Tool description must be string")  # noqa: TRY004 (the contract says ValueError)
    if len(description) < shortest:
        raise ValueError(f"Tool description too short (min {shortest} chars)")
    if len(description) > longest:
        raise ValueError(f"Tool description too long (max {longest} chars)")
    if HIDDEN.search(description) or not is_json(description):
        kinds = "zero-width, direction marks, control characters or lone surrogates"
        raise ValueError(f"Tool description has hidden characters ({kinds})")
    return description


def _check_input_schema(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise ValueError("Tool input_schema must be dict")  # noqa: TRY004 (the contract says ValueError)
    if schema.get("type") != "object":
        raise ValueError("Tool input_schema must have type='object'")
    if "properties" not in schema:
        raise ValueError("Tool input_schema must have 'properties' field")
    check_schema(schema, "Tool input_schema")
    return deepcopy(schema)


def _check_unlisted(arguments: Any) -> Mapping[str, Any]:
    if arguments is None:
        return {}
    check_schema({"properties": arguments}, "Tool unlisted_arguments")
    return deepcopy(dict(arguments))


def _check_output_schema(schema: Any) -> dict[str, Any] | None:
    if schema is None:
        return None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ValueError("Tool output_schema must be a dict with type='object'")
    check_schema(schema, "Tool output_schema")
    return deepcopy(schema)


def _check_execute(tool: Any) -> Callable[[dict[str, Any]], Any]:
    execute: Callable[[dict[str, Any]], Any] | None = getattr(tool, "execute", None)
    if not callable(execute):
        raise ValueError("Tool must have callable 'execute' method")  # noqa: TRY004 (the contract says ValueError)
    if not inspect.iscoroutinefunction(execute) and not inspect.iscoroutinefunction(type(execute).__call__):
        raise ValueError("Tool execute method must be async")
    if not _takes_one_argument(execute):
        raise ValueError("Tool execute method must take one argument: the arguments of a call")
    return execute


def _takes_one_argument(execute: Callable[[dict[str, Any]], Any]) -> bool:
    try:
        inspect.signature(execute).bind({})
    except TypeError:
        return False
    except ValueError:  # no signature is available
        return True
    return True


def _check_title(title: Any) -> str | None:
    if title is not None and (not isinstance(title, str) or HIDDEN.search(title) or not is_json(title)):
        raise ValueError("Tool title must be readable text")
    return title


def _check_instructions(instructions: Any) -> str:
    if instructions is None:
        return ""
    try:
        check_description(instructions)
    except ValueError as error:
        raise ValueError(str(error).replace("description", "instructions")) from None
    if len(instructions) > INSTRUCTIONS_LENGTH:
        raise ValueError(f"Tool instructions too long (max {INSTRUCTIONS_LENGTH} chars)")
    return str(instructions)


def _check_meta(meta: Any) -> Mapping[str, Any]:
    if meta is None:
        return {}
    if not isinstance(meta, Mapping) or not is_json(dict(meta)):
        raise ValueError("Tool meta must be a mapping of text to JSON")
    return deepcopy(dict(meta))


def _check_annotations(annotations: Any) -> Mapping[str, bool]:
    if annotations is None:
        return {}
    if not isinstance(annotations, Mapping) or not all(isinstance(value, bool) for value in annotations.values()):
        raise ValueError("Tool annotations must be a mapping of hints to booleans")
    if unknown := sorted(set(annotations) - HINTS):
        raise ValueError(f"Tool annotations: unknown hint '{unknown[0]}' (known: {', '.join(sorted(HINTS))})")
    return dict(annotations)


def _check_timeout(seconds: Any) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise ValueError("Tool timeout_seconds must be a positive number")
    return float(seconds)


def lint(tool: CheckedTool) -> list[str]:
    """Suggestions for one tool, a sentence each. They never keep a tool from being registered."""
    return [f"tool '{tool.name}': {advice}" for advice in _advice(tool)]


def tokens(tool: CheckedTool) -> int:
    """Estimate the tokens that a tool adds to every conversation: name, description and input schema, characters / 4."""
    text = tool.name + tool.description + json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
    return round(len(text) / CHARACTERS_PER_TOKEN)


def _advice(tool: CheckedTool) -> Iterator[str]:
    for name, schema in tool.input_schema["properties"].items():
        if not (isinstance(schema, dict) and schema.get("description")):
            yield f"parameter '{name}' has no description, which is what a model reads"
    yield from _mangled(tool.input_schema, "")
    if HIDDEN.search(json.dumps(tool.input_schema, ensure_ascii=False)):
        yield "input_schema has hidden characters, which a model reads and you do not see"
    if "additionalProperties" not in tool.input_schema:
        yield "input_schema does not set additionalProperties, so a misspelt argument goes unnoticed"
    if not {"readOnlyHint", "destructiveHint"} & set(tool.annotations):
        yield "annotations state neither readOnlyHint nor destructiveHint, so clients take it for destructive"
    if (size := tokens(tool)) > LARGE_TOOL_TOKENS:
        yield f"costs every conversation ~{size} tokens; shorten its description or schema"


def _mangled(schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Parts of an input schema that some clients refuse, or turn into a string."""
    where = f"'{place}'" if place else "input_schema"
    for keyword in MANGLED:
        if keyword in schema:
            yield f"{where} has {keyword}, which some clients refuse or turn into a string; give one plain type"
    if isinstance(schema.get("type"), list):
        yield f"{where} has several types, which some clients refuse or turn into a string; null may always be sent"
    if ("enum" in schema or "const" in schema) and "type" not in schema:
        yield f"{where} has fixed values without a type, which some models refuse; add the type"
    if ("default", None) in schema.items():
        yield f"{where} has the default null, which some models refuse; leave it out"
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict):
            yield from _mangled(part, f"{place}.{name}" if place else name)
    if isinstance(items := schema.get("items"), dict):
        yield from _mangled(items, f"{place}[]")
