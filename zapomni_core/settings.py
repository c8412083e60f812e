"""The settings. The descriptions of the fields are the reference that `zapomni config` and the docs show."""

import json
import re
import unicodedata
from collections.abc import Mapping
from copy import deepcopy
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StringConstraints

from zapomni_db.addresses import FALKORDB_SCHEMES, parse_falkordb_url

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_TOOL_NAME = r"[a-z][a-z0-9_]{0,49}"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.DOTALL)
_NO_ROOT = {"", ".", "..", "~", ":memory:"}
_UNREADABLE = {"Cc", "Cs", "Zl", "Zp"}


def normalise(name: str) -> str:
    """The one spelling of a plugin's or a distribution's name by which names are compared."""
    return re.sub(r"[-_.]+", "_", name).lower()


def is_name(text: str) -> bool:
    """Whether a plugin or a distribution can be called that."""
    return re.fullmatch(_NAME, text) is not None


def rename_key(key: str) -> str:
    """The one spelling of "plugin.tool", a key of `[rename]`."""
    plugin, _, tool = key.rpartition(".")
    return f"{normalise(plugin)}.{tool}"


def without_password(url: str) -> str:
    """The URL with passwords and keys masked, to show or to log."""
    masked = re.sub(r"(://(?!/)[^:@/]*:).*@", r"\1********@", url, flags=re.DOTALL)
    return re.sub(r"(?i)([?&][^=&]*(?:key|token|secret|passw)[^=&]*=)[^&#]*", r"\1********", masked)


def _readable(text: str) -> str:
    if any(unicodedata.category(character) in _UNREADABLE for character in text):
        raise ValueError("must not contain control characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _store_url(url: str) -> str:
    match = _SCHEME.fullmatch(url)
    if not match:
        raise ValueError("must be a URL that starts with a provider's name, such as sqlite:///absolute/path.db")
    scheme, rest = match.groups()
    if scheme == "sqlite" and rest.startswith("//"):  # as SQLAlchemy writes it
        rest = rest[1:]
        url = f"{scheme}://{rest}"
    if scheme == "sqlite" and not _names_absolute_file(rest):
        raise ValueError("must have an absolute path after two slashes: sqlite:///absolute/path.db")
    if scheme in FALKORDB_SCHEMES:
        parse_falkordb_url(url)
    return url


def _names_absolute_file(path: str) -> bool:
    # A client starts the server in a directory of its own choosing, so ~ and . would name another file each time.
    return path.startswith("/") and not path.endswith("/") and path.split("/")[1] not in _NO_ROOT


def _names(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _json_names(value)
    return [name for part in value.split(",") if (name := part.strip())]


def _json_names(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("must be names separated by commas, or a JSON list of names") from None


def _table_name(name: str) -> str:
    # ZAPOMNI_PLUGINS__NAME__KEY cannot express a name with __, and the names of the fields are reserved.
    if not is_name(name) or "__" in name or normalise(name) in PluginsSettings.model_fields:
        raise ValueError("is not a valid plugin name")
    return normalise(name)


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _spelled(pattern: str, rule: str) -> AfterValidator:
    """A check that states its rule in words, where pydantic would quote the pattern."""
    spelled = re.compile(pattern)

    def check(text: str) -> str:
        if not spelled.fullmatch(text):
            raise ValueError(rule)
        return text

    return AfterValidator(check)


_TOOL_RULE = "must be a tool's name: a small letter, then small letters, digits and _, at most 50 in all"
_RENAME_RULE = 'must have a key of the form "plugin.tool"'
_NAME_RULE = "must be the name of a plugin or of a distribution"

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ToolName = Annotated[str, _spelled(_TOOL_NAME, _TOOL_RULE)]
RenameKey = Annotated[str, _spelled(rf"{_NAME}\.{_TOOL_NAME}", _RENAME_RULE), AfterValidator(rename_key)]
StoreURL = Annotated[str, AfterValidator(_readable), AfterValidator(_store_url)]
Workspace = Annotated[
    str, StringConstraints(min_length=1, max_length=64), AfterValidator(_not_blank), AfterValidator(_readable)
]
PluginName = Annotated[str, _spelled(_NAME, _NAME_RULE), AfterValidator(normalise)]
ProviderName = Annotated[str, StringConstraints(min_length=1)]
TableName = Annotated[str, AfterValidator(_table_name)]
Names = Annotated[tuple[Annotated[str, _spelled(_NAME, _NAME_RULE)], ...], BeforeValidator(_names)]
Requirements = Annotated[
    tuple[Annotated[str, _spelled(rf"{_NAME}\s*([<>=!~].*)?", f"{_NAME_RULE}, and a version if it matters")], ...],
    BeforeValidator(_names),
]


class _Table(BaseModel):
    # Settings hold secrets and end up in messages: a validation error never shows what was given.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class LLMSettings(_Table):
    """The language model that extracts entities, where `extractor = "llm"` asks for one."""

    provider: Literal["openai", "ollama"] | None = Field(
        None, description="The protocol of the server: `openai` for any server that speaks OpenAI's, or `ollama`."
    )
    base_url: str | None = Field(
        None, description="The address of the server. Default: the usual address of the provider."
    )
    model: str | None = Field(None, description="The name of the model.")
    api_key: SecretStr | None = Field(
        None,
        description=(
            'The key for the provider; `{ env = "NAME" }` in the file takes it from a variable. '
            "Unset: the variable `OPENAI_API_KEY`, where the provider is `openai`."
        ),
    )
    timeout_seconds: Seconds = Field(60, description="The time limit of one question, retries included, in seconds.")
    wait_seconds: Seconds = Field(
        20,
        description=(
            "The time limit of `add_memory` with `store_raw` and `queue_retry`, where the memory is stored already."
        ),
    )


class EndpointSettings(_Table):
    """An embedder on the network."""

    base_url: str | None = Field(None, description="Where the provider listens; unset, the provider's usual address.")
    model: str | None = Field(
        None,
        description="The embedding model, as the provider knows it. Unset: the one that made the workspace's vectors, else a usual one.",
    )
    api_key: SecretStr | None = Field(
        None, description='The key for the provider; `{ env = "NAME" }` in the file takes it from a variable.'
    )
    timeout_seconds: Seconds = Field(
        30,
        description=(
            "How long one request may take, with everything that is tried again, in seconds. "
            "A search and a call of `add_memory` wait for at most five."
        ),
    )
    batch_texts: Annotated[int, Field(ge=1, le=2048)] = Field(32, description="The most texts in one request.")
    parallel_requests: Annotated[int, Field(ge=1, le=64)] = Field(
        4, description="The most requests at the same time, when many texts are embedded."
    )


class OllamaEmbedderSettings(EndpointSettings):
    """The embedder `ollama`. `OLLAMA_HOST` and `EMBEDDING_MODEL` are other names for `base_url` and `model`."""


class OpenAIEmbedderSettings(EndpointSettings):
    """The embedder `openai`: OpenAI itself, or any server that speaks its protocol.

    OpenAI itself takes its key from `OPENAI_API_KEY` too; no other server is sent that one.
    """

    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        None, description="The dimensions to ask for, where the model offers several."
    )


class EmbeddingSettings(_Table):
    """Embedders on the network, each with a table of its own. `embedder` chooses one."""

    ollama: OllamaEmbedderSettings = Field(OllamaEmbedderSettings(), description="The embedder `ollama`.")
    openai: OpenAIEmbedderSettings = Field(OpenAIEmbedderSettings(), description="The embedder `openai`.")


class PluginsSettings(_Table):
    """Which plugins are loaded, and in one table per plugin its own settings."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[TableName, dict[str, Any]]

    enable: Names = Field((), description="Plugins that are loaded regardless of `disable` and `policy`.")
    disable: Names = Field((), description="Plugins that are never imported.")
    require: Requirements = Field(
        (),
        description="Plugins without which the server does not start, each with a version if it matters: `memory>=0.1`.",
    )
    policy: Literal["all", "allowlist"] = Field(
        "all", description="`all` loads every installed plugin, `allowlist` only those in `allow`."
    )
    allow: Names = Field((), description="Plugins that are loaded under the policy `allowlist`.")
    import_seconds: Seconds = Field(
        5, description="The time limit for importing a plugin, and for its hooks, in seconds."
    )
    start_seconds: Seconds = Field(30, description="The time limit for starting a plugin, in seconds.")

    @property
    def tables(self) -> Mapping[str, dict[str, Any]]:
        """The tables of the plugins by normalised name, not yet checked by the plugins' models."""
        return self.__pydantic_extra__

    def table(self, name: str) -> dict[str, Any]:
        """A copy of the settings of one plugin; empty without any."""
        return deepcopy(self.tables.get(normalise(name), {}))


class ToolSettings(_Table):
    """Settings of one tool."""

    owner: PluginName | None = Field(
        None, description="The plugin whose tool gets this name if several plugins offer one."
    )
    description: str | None = Field(None, description="Replaces the tool's own description.")
    enabled: bool = Field(default=True, description="Whether clients see the tool and can call it.")
    timeout_seconds: Seconds | None = Field(
        None,
        description="The longest time without progress, in seconds. Default: the tool's own limit.",
    )


class TelemetrySettings(_Table):
    """Traces and metrics by OpenTelemetry. Its own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, name the endpoint."""

    enabled: bool = Field(default=False, description="Whether spans and metrics are sent; needs `zapomni[otel]`.")
    service_name: Annotated[str, StringConstraints(max_length=255), AfterValidator(_not_blank)] = Field(
        "zapomni", description="The name of the service. If it is not set, `OTEL_SERVICE_NAME` applies."
    )


class Settings(_Table):
    """All settings."""

    # Neither a password in the URL nor a plugin's secret belongs in a traceback or a log.
    store: StoreURL | None = Field(
        None,
        repr=False,
        description=(
            "Where memories are kept, as a URL: `sqlite:///absolute/path.db`, `falkordb://host:port/graph`, "
            "`postgresql://...`, or the scheme of a plugin. Unset: the FalkorDB of "
            "`FALKORDB_HOST` if that is set, else `memory.db` in the user's data directory."
        ),
    )
    embedder: ProviderName | None = Field(
        None, description="Who turns text into vectors in a new store: `default`, `ollama`, `openai`, or a plugin's."
    )
    extractor: ProviderName | None = Field(
        None,
        description="Who finds entities when a memory is added: `llm`, `names` of the plugin graph, or another plugin's. Unset: none.",
    )
    workspace: Workspace = Field(
        "default", description="The workspace that memories belong to, 1 to 64 characters; nothing leaks between two."
    )
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_upper)] = Field(
        "WARNING", description="The least severe messages that are logged to standard error."
    )
    llm: LLMSettings = Field(LLMSettings(), description="The language model that extracts entities.")
    on_llm_unavailable: Annotated[Literal["fail", "store_raw", "queue_retry"], BeforeValidator(_lower)] = Field(
        "fail",
        description=(
            "What adding a memory does while the language model is away: `fail` adds nothing, `store_raw` adds the "
            "memory without entities, `queue_retry` adds it and extracts them later."
        ),
    )
    embedding: EmbeddingSettings = Field(EmbeddingSettings(), description="Embedders on the network.")
    telemetry: TelemetrySettings = Field(TelemetrySettings(), description="Traces and metrics by OpenTelemetry.")
    plugins: PluginsSettings = Field(
        PluginsSettings(), repr=False, description="Which plugins are loaded, and their own settings."
    )
    tools: dict[ToolName, ToolSettings] = Field({}, description="Changes to single tools, by name.")
    rename: dict[RenameKey, ToolName] = Field(
        {}, description='New names for tools, which resolve conflicts: `"plugin.tool" = "new_name"`.'
    )
