"""The embedder `fastembed`: local models by name, or from a folder."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from zapomni_core.plugin import Provider, ProviderContext, hookimpl
from zapomni_core.plugin.embedders import Embedder

__all__ = ["FastembedSettings"]


class FastembedSettings(BaseModel):
    """`[plugins.fastembed]` in zapomni.toml, or ZAPOMNI_PLUGINS__FASTEMBED__MODEL in the environment."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(
        None,
        description="A model that fastembed knows. Unset: the one that made the workspace's vectors, else BAAI/bge-small-en-v1.5.",
    )
    folder: Path | None = Field(
        None, description="A folder with the files of that model, an absolute path; nothing is downloaded then."
    )
    cache: Path | None = Field(
        None, description="Where downloaded models are kept; unset, the user's cache directory of Zapomni."
    )
    threads: int | None = Field(None, ge=1, description="The threads of the model; unset, one for each core.")


@hookimpl
def zapomni_settings() -> type[BaseModel]:
    return FastembedSettings


@hookimpl
def zapomni_providers() -> list[Provider]:
    summary = "A local model by fastembed, downloaded once."
    return [Provider(kind="embedder", name="fastembed", factory=make_embedder, summary=summary)]


def make_embedder(context: ProviderContext) -> Embedder:
    """The embedder of the plugin's settings. A model that they leave open is the recorded one of the workspace."""
    from zapomni_plugin_fastembed.embedder import FastembedEmbedder

    settings = FastembedSettings.model_validate(context.settings.plugins.table("fastembed"))
    return FastembedEmbedder(settings, context.recorded)
