"""What memories speak of, as a graph: entities, how they are related, and the sentence that says so."""

from pydantic import BaseModel

from zapomni_core.plugin import Extractor, JobKind, MemoryEngine, Provider, ProviderContext, Tool, hookimpl
from zapomni_plugin_graph.settings import GraphSettings

__all__ = ["GraphSettings"]


@hookimpl
def zapomni_settings() -> type[BaseModel]:
    return GraphSettings


@hookimpl
def zapomni_providers() -> list[Provider]:
    summary = "Reads memories and keeps the entities and relations that they speak of."
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


def make_build_job(_context: ProviderContext) -> JobKind:
    """The kind of job that the tool build_graph queues."""
    from zapomni_plugin_graph.building import BuildGraph

    return BuildGraph()


def make_extractor(_context: ProviderContext) -> Extractor:
    """The extractor that needs no language model."""
    from zapomni_plugin_graph.names import NamesExtractor

    return NamesExtractor()
