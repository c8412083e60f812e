"""What became of each plugin: its state, and where it failed, why, and what to do next."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from zapomni_core.errors import PluginError
from zapomni_core.host.discovery import Found

State = Literal["found", "loaded", "failed", "disabled"]


@dataclass(slots=True)
class PluginReport:
    """What became of one plugin."""

    name: str
    distribution: str = ""
    version: str = ""
    source: str = ""
    bundled: bool = False
    state: State = "found"
    stage: str | None = None
    cause: str | None = None
    fix: str | None = None
    import_ms: float | None = None
    tools: list[str] = field(default_factory=list)
    middleware: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    told: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, found: Found) -> "PluginReport":
        """A report on a plugin of which nothing is known but its metadata."""
        return cls(found.name, found.distribution, found.version, found.target, found.bundled)

    def fail(self, error: PluginError) -> None:
        """Note where it failed; it offers nothing from now on."""
        self.state, self.stage, self.cause, self.fix = "failed", error.stage, str(error), error.fix
        self.told = error.told
        self.tools, self.middleware, self.commands = [], [], []

    @property
    def removal(self) -> str:
        """How the user starts Zapomni without it."""
        is_file = self.source and not self.distribution
        return f"leave out --plugin {self.source}" if is_file else f"run: zapomni plugins disable {self.name}"

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON, for the user."""
        return {key: value for key, value in asdict(self).items() if key != "told"}

    def as_told_to_clients(self) -> dict[str, Any]:
        """The report as JSON without the text of exceptions, which is for the user alone."""
        return self.as_dict() | {"cause": self.told if self.state == "failed" else self.cause}


class HostReport:
    """What became of all plugins, in the order they were met."""

    def __init__(self) -> None:
        self.plugins: list[PluginReport] = []

    def add(self, found: Found) -> PluginReport:
        """Begin a report on a plugin."""
        report = PluginReport.of(found)
        self.plugins.append(report)
        return report

    def get(self, name: str) -> PluginReport | None:
        """The report on the plugin that has this name; a loaded one before the ones that failed to take it."""
        named = [one for one in self.plugins if one.name == name]
        return next((one for one in named if one.state == "loaded"), named[0] if named else None)

    def in_state(self, state: State) -> list[PluginReport]:
        """The reports of plugins in that state."""
        return [one for one in self.plugins if one.state == state]

    def __iter__(self) -> Iterator[PluginReport]:
        return iter(self.plugins)
