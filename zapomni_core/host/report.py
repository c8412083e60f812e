"""The report on each plugin: its state, and for a failure the stage, the cause and the next step."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from zapomni_core.errors import PluginError
from zapomni_core.host.discovery import Found

State = Literal["found", "loaded", "failed", "disabled"]


@dataclass(slots=True)
class PluginReport:
    """The state of one plugin and what it offers."""

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
    public_cause: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, found: Found) -> "PluginReport":
        """A report with the metadata of a plugin."""
        return cls(found.name, found.distribution, found.version, found.target, found.bundled)

    def fail(self, error: PluginError) -> None:
        """Record a failure; the plugin offers nothing from now on."""
        self.state, self.stage, self.cause, self.fix = "failed", error.stage, str(error), error.fix
        self.public_cause = error.public_cause
        self.tools, self.middleware, self.commands = [], [], []

    @property
    def removal(self) -> str:
        """The command that starts Zapomni without the plugin."""
        is_file = self.source and not self.distribution
        return f"leave out --plugin {self.source}" if is_file else f"run: zapomni plugins disable {self.name}"

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON for the user."""
        return {key: value for key, value in asdict(self).items() if key != "public_cause"}

    def for_clients(self) -> dict[str, Any]:
        """The report as JSON for clients, without the texts of exceptions."""
        return self.as_dict() | {"cause": self.public_cause if self.state == "failed" else self.cause}


class HostReport:
    """The reports on all plugins, in the order of discovery."""

    def __init__(self) -> None:
        self.plugins: list[PluginReport] = []

    def add(self, found: Found) -> PluginReport:
        """Add a report on a plugin."""
        report = PluginReport.of(found)
        self.plugins.append(report)
        return report

    def get(self, name: str) -> PluginReport | None:
        """The report on the plugin of this name; of several, the loaded one."""
        named = [one for one in self.plugins if one.name == name]
        return next((one for one in named if one.state == "loaded"), named[0] if named else None)

    def in_state(self, state: State) -> list[PluginReport]:
        """The reports on plugins in this state."""
        return [one for one in self.plugins if one.state == state]

    def __iter__(self) -> Iterator[PluginReport]:
        return iter(self.plugins)
