"""The rules a tool must meet to be offered, with the messages of the contract."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from zapomni_core.host.accepting import Accepts, acceptor
from zapomni_core.host.schemas import check_schema, is_json, validator
from zapomni_core.middleware import copied

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]*")
NAME_LENGTH = 50
DESCRIPTION_LENGTH = (10, 500)
# What Unicode calls default ignorable, but for the selectors that emoji are written with; control characters that are no
# white space; and the marks around annotations.
HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


@dataclass(frozen=True)
class CheckedTool:
    """A tool that met the rules, its parts read once: what changes its mind later, a property or a dict, changes nothing."""

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
    plugin: str = ""

    @cached_property
    def accepts_arguments(self) -> Accepts:
        """Sure of most arguments that are right, and quickly; else the validator decides."""
        return acceptor(self._arguments_schema)

    @cached_property
    def accepts_output(self) -> Accepts:
        """The same for results."""
        return acceptor(True if self.output_schema is None else self.output_schema)

    @cached_property
    def arguments_validator(self) -> Any:
        """Compiled at the first call, then kept."""
        return validator(self._arguments_schema)

    @property
    def _arguments_schema(self) -> dict[str, Any]:
        return {**self.input_schema, "properties": {**self.input_schema["properties"], **self.unlisted_arguments}}

    @cached_property
    def output_validator(self) -> Any:
        """Compiled at the first result, then kept; None where the tool promises nothing."""
        return validator(self.output_schema) if self.output_schema is not None else None


def check_tool(tool: Any, *, taken: Callable[[str], bool], plugin: str = "", name: str | None = None) -> CheckedTool:
    """The tool with its parts checked; `name` is what the user renamed it to.

    Raises TypeError where a part is missing, ValueError where one is wrong.
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
        instructions=_check_instructions(getattr(tool, "instructions", None)),
        plugin=plugin,
    )


def check_name(name: Any) -> str:
    """The name, if it is one."""
    if not isinstance(name, str):
        raise ValueError(f"Tool name must be string, got {type(name)}")  # noqa: TRY004 (the contract says ValueError)
    if not 1 <= len(name) <= NAME_LENGTH:
        raise ValueError(f"Tool name length must be 1-{NAME_LENGTH} chars, got {len(name)}")
    if not NAME_PATTERN.fullmatch(name):
        raise ValueError(f"Tool name '{name}' invalid (must be lowercase, alphanumeric, underscores)")
    return name


def check_description(description: Any) -> str:
    """The description, if a model can read it and nothing hides in it."""
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
    return dict(copied(schema))


def _check_unlisted(arguments: Any) -> Mapping[str, Any]:
    if arguments is None:
        return {}
    check_schema({"properties": arguments}, "Tool unlisted_arguments")
    return dict(copied(arguments))


def _check_output_schema(schema: Any) -> dict[str, Any] | None:
    if schema is None:
        return None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ValueError("Tool output_schema must be a dict with type='object'")
    check_schema(schema, "Tool output_schema")
    return dict(copied(schema))


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
    except ValueError:  # it has no signature that can be seen
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
        return check_description(instructions)
    except ValueError as error:
        raise ValueError(str(error).replace("description", "instructions")) from None


def _check_annotations(annotations: Any) -> Mapping[str, bool]:
    if annotations is None:
        return {}
    if not isinstance(annotations, Mapping) or not all(isinstance(value, bool) for value in annotations.values()):
        raise ValueError("Tool annotations must be a mapping of hints to booleans")
    if unknown := sorted(set(annotations) - HINTS):
        raise ValueError(f"Tool annotations: '{unknown[0]}' is no hint (known: {', '.join(sorted(HINTS))})")
    return dict(annotations)


def _check_timeout(seconds: Any) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise ValueError("Tool timeout_seconds must be a positive number")
    return float(seconds)
