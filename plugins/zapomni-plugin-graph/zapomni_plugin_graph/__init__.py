"""A graph of people, projects and things in memories: facts that agents state, each with its evidence."""

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from zapomni_core.plugin import MemoryEngine, Provider, ProviderContext, Tool, hookimpl
from zapomni_core.plugin.extractors import Extractor
from zapomni_core.plugin.jobs import JobKind

if TYPE_CHECKING:
    import click

__all__ = ["GraphSettings"]


class GraphSettings(BaseModel):
    """`[plugins.graph]` in zapomni.toml, or ZAPOMNI_PLUGINS__GRAPH__WAIT_SECONDS in the environment."""

    model_config = ConfigDict(extra="forbid")

    wait_seconds: float = Field(
        5.0,
        ge=0,
        le=25,
        description="How long build_graph waits for its job before it answers that the work goes on in the background.",
    )


@hookimpl
def zapomni_settings() -> type[BaseModel]:
    return GraphSettings


@hookimpl
def zapomni_providers() -> list[Provider]:
    summary = "Extracts entities and relations from memories and keeps them in the graph."
    return [
        Provider(kind="job", name="build_graph", factory=make_build_job, summary=summary),
        Provider(
            kind="extractor",
            name="names",
            factory=make_extractor,
            summary="Names by their form, offline.",
            asks_llm=False,
        ),
    ]


@hookimpl
def zapomni_tools(engine: MemoryEngine, settings: GraphSettings) -> list[Tool]:
    from zapomni_plugin_graph.tools import make_tools

    return make_tools(engine, settings.wait_seconds)


@hookimpl
def zapomni_commands(engine: MemoryEngine) -> "list[click.Command]":
    from zapomni_plugin_graph.cli import make_command

    return [make_command(engine)]


def make_build_job(_context: ProviderContext) -> JobKind:
    """The kind of job that the tool build_graph queues."""
    from zapomni_plugin_graph.job import BuildGraph

    return BuildGraph()


def make_extractor(_context: ProviderContext) -> Extractor:
    """The extractor that needs no language model."""
    from zapomni_plugin_graph.names import NamesExtractor

    return NamesExtractor()
