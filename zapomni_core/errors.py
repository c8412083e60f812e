"""What can go wrong above the store.

Exception
├── DatabaseError            (from zapomni_db) the store cannot be reached, or refused what was asked of it
└── ZapomniError
    ├── ConfigurationError   a setting is wrong, or names something that nobody offers
    ├── ProcessingError      text could not be chunked, embedded or searched
    │   └── EmbedderMissingError  (a ConfigurationError too) nobody offers the embedder that made the store's vectors
    ├── LLMUnavailableError  the language model gave no answer; `failure` says why
    ├── ToolError            a tool refuses on purpose; its message is meant for the client
    ├── UnknownToolError     no tool has that name
    ├── PluginError          a plugin cannot be taken; names its stage and the next step
    └── ContractError        a plugin author's mistake, told where it was made
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zapomni_db.errors import DatabaseError

if TYPE_CHECKING:
    from zapomni_core.llm.classifier import LLMFailure

__all__ = [
    "ConfigurationError",
    "ContractError",
    "DatabaseError",
    "EmbedderMissingError",
    "LLMUnavailableError",
    "PluginError",
    "ProcessingError",
    "ToolError",
    "UnknownToolError",
    "ZapomniError",
]


class ZapomniError(Exception):
    """The root of everything that is raised on purpose above the store."""


class ConfigurationError(ZapomniError):
    """A setting is wrong, or names something that nobody offers."""


class ProcessingError(ZapomniError):
    """Text could not be chunked, embedded or searched."""


class EmbedderMissingError(ConfigurationError, ProcessingError):
    """Nobody offers the embedder that made the store's vectors. It fails as any embedder does, and says the way out."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the store's vectors were made by embedder '{name}', which no enabled plugin offers; "
            "install or enable the plugin that brings it, or make new vectors by another: "
            "zapomni reindex --embedder default"
        )


class LLMUnavailableError(ZapomniError):
    """The language model gave no answer. `failure` has the code, and what to do next; all of it may be shown."""

    def __init__(self, failure: "LLMFailure") -> None:
        super().__init__(failure.message)
        self.failure = failure

    @property
    def root_cause(self) -> str | None:
        """What began it, for the log: a certificate that is not trusted, say; None where the provider itself refused."""
        error: Exception = self
        while isinstance(error.__cause__, Exception):
            error = error.__cause__
        return None if isinstance(error, LLMUnavailableError) else f"{type(error).__name__}: {error}".rstrip(": ")


class ToolError(ZapomniError):
    """A tool refuses on purpose. The message reaches the client: say what to do about it."""

    def __init__(self, message: str, *, suggestion: str | None = None, recoverable: bool = True) -> None:
        super().__init__(message)
        self.suggestion = suggestion
        self.recoverable = recoverable


class UnknownToolError(ZapomniError):
    """No tool has that name; `nearest` are the ones that come close."""

    def __init__(self, name: str, nearest: Sequence[str] = ()) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        super().__init__(f"Unknown tool: {name}{hint}")
        self.name = name
        self.nearest = tuple(nearest)


class PluginError(ZapomniError):
    """A plugin cannot be taken. `stage` says where it failed, `fix` what to do next.

    `told` is what clients may know of the cause: all of it, unless it quotes an exception.
    """

    def __init__(self, stage: str, cause: str, fix: str, *, told: str | None = None) -> None:
        super().__init__(cause)
        self.stage = stage
        self.fix = fix
        self.told = cause if told is None else told


class ContractError(ZapomniError):
    """A plugin author's mistake in something the author wrote: a signature, a hook, a settings model."""
