"""Tools: a class of your own, or `@tool` on a typed async function; and what MCP requires of their content."""

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, overload

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic_core import to_jsonable_python

from zapomni_core.errors import ContractError
from zapomni_core.json_schema import plain_schema
from zapomni_db.errors import InvalidInputError


class Tool(Protocol):
    """Any object of this shape is a tool; there is nothing to inherit.

    A tool may also have `title`, `output_schema`, `annotations`, `timeout_seconds` and `async check()`;
    `unlisted_arguments`: schemas by name of optional arguments that it accepts and does not advertise, or of arguments that
    it checks itself; `instructions`: a sentence of at most 200 characters that tells a model when to call it, which clients
    get with the server's, one of each plugin; and `meta`, which clients get as its `_meta`.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...

    async def execute(self, arguments: dict[str, Any]) -> dict[str, Any]: ...


class ToolResult:
    """Builds the result of a tool: `{"content": [...], "isError": bool}` and what may stand beside it."""

    @staticmethod
    def text(text: str, *, structured: Any = None, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A readable answer, and the same as data where there is any."""
        return ToolResult.of([{"type": "text", "text": text}], structured=structured, meta=meta)

    @staticmethod
    def error(text: str, *, structured: Any = None, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """An answer that says that, and why, it was not done."""
        return ToolResult.of([{"type": "text", "text": text}], is_error=True, structured=structured, meta=meta)

    @staticmethod
    def of(
        content: list[dict[str, Any]],
        *,
        is_error: bool = False,
        structured: Any = None,
        meta: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """An answer of any content: text, images, audio, resources."""
        result: dict[str, Any] = {"content": content, "isError": is_error}
        if structured is not None:
            result["structuredContent"] = structured
        if meta:
            result["_meta"] = dict(meta)
        return result


_PREFIX = "argument_"
_MOST_PROBLEMS = 10

Function = Callable[..., Awaitable[Any]]


class FunctionTool:
    """A tool made from a typed async function and its docstring."""

    def __init__(
        self,
        function: Function,
        *,
        name: str | None = None,
        title: str | None = None,
        annotations: Mapping[str, bool] | None = None,
        output_schema: dict[str, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        if not inspect.iscoroutinefunction(function):
            raise ContractError(f"@tool needs an async function: write 'async def {function.__name__}'")
        summary, described = _read_docstring(function)
        self.name = name or function.__name__
        self.title = title
        self.description = summary
        self.annotations = annotations
        self.output_schema = output_schema
        self.timeout_seconds = timeout_seconds
        self._function = function
        self._arguments = _arguments_model(function, described)
        try:
            self.input_schema = _schema(self._arguments)
        except PydanticUserError as error:
            raise _no_type(function, error) from error
        except ContractError as error:
            raise ContractError(f"@tool on '{function.__name__}': {error}") from None

    async def execute(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call the function with checked arguments, and shape what it returns."""
        try:
            checked = self._arguments.model_validate(arguments)
        except ValidationError as error:
            raise InvalidInputError(_problems(error)) from error
        values = {name.removeprefix(_PREFIX): getattr(checked, name) for name in checked.model_fields_set}
        return _as_result(await self._function(**values))

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, for tests and for other code."""
        return await self._function(*args, **kwargs)


@overload
def tool(function: Function, /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    annotations: Mapping[str, bool] | None = None,
    output_schema: dict[str, Any] | None = None,
    timeout_seconds: float | None = None,
) -> Callable[[Function], FunctionTool]: ...


def tool(function: Function | None = None, /, **options: Any) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Make a tool of an async function: its name, its docstring, its typed parameters.

    The first paragraph of the docstring is the description that a model reads; the lines under `Args:` describe the
    parameters. The function may return text, a dict or pydantic model (structured content), or a `ToolResult`.
    """
    if function is not None:
        return FunctionTool(function, **options)
    return lambda decorated: FunctionTool(decorated, **options)


def _arguments_model(function: Function, described: Mapping[str, str]) -> type[BaseModel]:
    """A model whose fields have names of their own, and the parameters' as aliases: a parameter may be called anything."""
    fields: dict[str, Any] = {}
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except NameError as error:
        raise ContractError(f"@tool on '{function.__name__}': a type is not known there: {error}") from error
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ContractError(f"@tool on '{function.__name__}': '{parameter}' cannot be given by name")
        if parameter.annotation is parameter.empty:
            raise ContractError(f"@tool on '{function.__name__}': parameter '{parameter.name}' needs a type")
        fields[_PREFIX + parameter.name] = (parameter.annotation, _field(parameter, described.get(parameter.name)))
    try:
        return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    except PydanticUserError as error:
        raise _no_type(function, error) from error


def _no_type(function: Function, error: PydanticUserError) -> ContractError:
    """An error that names the parameter whose type has no JSON Schema; pydantic's own does not."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    name = next((one.name for one in parameters if not _is_sendable(one.annotation)), "")
    reason = str(error.message).partition("\n")[0]
    place = f"parameter '{name}'" if name else "a parameter"
    return ContractError(f"@tool on '{function.__name__}': {place} has a type that no client can send: {reason}")


def _is_sendable(annotation: Any) -> bool:
    try:
        TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return False
    return True


def _field(parameter: inspect.Parameter, description: str | None) -> Any:
    default = ... if parameter.default is parameter.empty else parameter.default
    given: Any = {"description": description} if description else {}
    return Field(default, alias=parameter.name, **given)


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema, as every client understands it."""
    schema = plain_schema(model.model_json_schema())
    schema.setdefault("properties", {})
    return schema


def _read_docstring(function: Function) -> tuple[str, dict[str, str]]:
    text = inspect.getdoc(function) or ""
    summary = " ".join(re.split(r"\n\n|^Args:$", text, maxsplit=1, flags=re.MULTILINE)[0].split())
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)+)", text, re.MULTILINE)
    described: dict[str, str] = {}
    name = ""
    for line in section[1].splitlines() if section else ():
        if start := re.match(r"(?: {4}|\t)(\w+)(?: \([^)]*\))?: (.+)", line):
            name, described[start[1]] = start[1], start[2].strip()
        elif name and line.strip():
            described[name] += " " + line.strip()
    return summary, described


def _problems(error: ValidationError) -> str:
    """The problems by place and rule, without the values."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_PROBLEMS]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in problems)


def _as_result(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return ToolResult.text(value)
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, dict) and isinstance(value.get("content"), list) and "isError" in value:
        return value
    try:
        data = to_jsonable_python(value, by_alias=False)
    except ValueError:  # the check of results reports it
        return ToolResult.of([], structured=value)
    structured = data if isinstance(data, dict) else None  # MCP's structured content is an object
    return ToolResult.text(json.dumps(data, ensure_ascii=False), structured=structured)


_AUDIENCE = ("assistant", "user")
_THEMES = ("dark", "light")

Rules = dict[str, Callable[[Any], bool]]


def content_problem(result: dict[str, Any]) -> str | None:
    """The flaw in a result whose shape was checked, or None. Never quotes it."""
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
