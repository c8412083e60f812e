"""Embedders on the network: Ollama, and every endpoint that speaks OpenAI's protocol."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from zapomni_core.embedding.embedder import OnBatch, Profile, guess_tokens, in_batches
from zapomni_core.embedding.models import prefixes_of
from zapomni_core.errors import EmbedderUnavailableError, writable
from zapomni_core.http import (
    Calls,
    Endpoint,
    ErrorClassifier,
    HTTPClient,
    Limits,
    MalformedAnswerError,
    ProviderFailure,
)
from zapomni_core.settings import EndpointSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity

log = logging.getLogger("zapomni.embedding")

DEFAULT_MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}
BATCH_CHARACTERS = 32_000
LONGEST_REPLY = 64 * 1024 * 1024
SHORTEST_CUT = 100
"""Characters of a text that a provider must take. A longer one that is refused alone is cut to a half."""
INSTEAD_OF_NOTHING = "."
"""Providers refuse an empty text, or return nothing for it."""


@dataclass(frozen=True, slots=True)
class EmbeddingProtocol:
    """The format of a provider's requests, and the place of the vectors in its replies.

    `rows_of` raises LookupError or TypeError if a reply does not follow the protocol.
    """

    path: str
    body: Callable[[str, Sequence[str], int | None], dict[str, Any]]
    rows_of: Callable[[Any], list[Any]]


def _ollama_body(model: str, texts: Sequence[str], _dimensions: int | None) -> dict[str, Any]:
    # Ollama would cut a long text without saying so.
    return {"model": model, "input": list(texts), "truncate": False}


def _openai_body(model: str, texts: Sequence[str], dimensions: int | None) -> dict[str, Any]:
    wanted = {} if dimensions is None else {"dimensions": dimensions}
    return {"model": model, "input": list(texts), **wanted}


def _openai_rows(reply: Any) -> list[Any]:
    """The vectors in the order of the texts; the protocol allows any order."""
    rows = {item.get("index", place): item["embedding"] for place, item in enumerate(reply["data"])}
    return [rows[number] for number in range(len(reply["data"]))]


PROTOCOLS = {
    "ollama": EmbeddingProtocol("/api/embed", _ollama_body, lambda reply: list(reply["embeddings"])),
    "openai": EmbeddingProtocol("/embeddings", _openai_body, _openai_rows),
}


class EmbeddingErrorClassifier(ErrorClassifier):
    """Maps the failures of an embedder to messages."""

    subject = "Embedder"
    error = EmbedderUnavailableError

    def wrong_dimension(self, returned: int, expected: int) -> ProviderFailure:
        """The failure of an answer with vectors of another dimension."""
        endpoint = self._endpoint
        dimensions = f" or {endpoint.variable('dimensions')}" if endpoint.provider == "openai" else ""
        return self._failure(
            "WRONG_DIMENSION",
            f"Embedder returned vectors of {returned} numbers; those of model {endpoint.model} have {expected}.",
            f"Correct {endpoint.variable('model')}{dimensions}, or run: zapomni reindex --embedder {endpoint.provider}",
        )

    @property
    def _provider(self) -> str:
        return "embedding provider"

    @property
    def _takes_usual_key(self) -> bool:
        return self._endpoint.provider == "openai" and self._endpoint.is_usual

    def _network(self) -> ProviderFailure:
        failure = super()._network()
        if self._endpoint.provider == "ollama":
            return replace(failure, suggestion=f"Start Ollama with `ollama serve`. {failure.suggestion}")
        return failure

    def _other_answer(self) -> tuple[str, str]:
        url, model = self._endpoint.variable("base_url"), self._endpoint.model
        suggestion = f"Check that {url} is the provider's address and that {model} is an embedding model."
        return "Embedder answer does not have a vector for each text.", suggestion

    def _fitting(self) -> str:
        return f"Check that {self._endpoint.model} is an embedding model that the provider has."


class RemoteEmbedder:
    """Embeds by requests to one endpoint, which retries, and stops for a while after failures.

    Without a known `dimension`, the first answer tells it. `dimensions` asks the provider for as many.
    """

    def __init__(
        self, endpoint: Endpoint, profile: Profile, limits: Limits, *, dimension: int = 0, dimensions: int | None = None
    ) -> None:
        self.profile = profile
        self._endpoint = endpoint
        self._protocol = PROTOCOLS[endpoint.provider]
        self._classifier = EmbeddingErrorClassifier(endpoint)
        self._client = HTTPClient(endpoint, limits, self._classifier, longest_reply=LONGEST_REPLY)
        self._calls = Calls(endpoint, self._classifier, limits)
        self._dimension = dimensions or dimension
        self._wanted_dimensions = dimensions

    @property
    def identity(self) -> "EmbedderIdentity":
        from zapomni_db.records import EmbedderIdentity

        return EmbedderIdentity(self._endpoint.provider, self._endpoint.model, self._dimension)

    def tokens(self, text: str) -> int:
        """Estimate the tokens, without the model's tokenizer: see `guess_tokens`."""
        return guess_tokens(text)

    async def embed(self, texts: Sequence[str], *, query: bool = False, on_batch: OnBatch | None = None) -> "Vector":
        """Return one row of unit length for each text; EmbedderUnavailableError says why not, and what to do."""
        if not self._dimension:
            self._dimension = (await self._encode([INSTEAD_OF_NOTHING])).shape[1]
        return await in_batches(
            texts, self._encode, self.profile, dimension=self._dimension, query=query, on_batch=on_batch
        )

    async def close(self) -> None:
        """Close the connections of the running loop, for good."""
        await self._client.close()

    async def _encode(self, texts: list[str]) -> "Vector":
        """Embed a batch. One that the provider refuses may be too large for it: it is divided, down to half of a text."""
        import numpy as np

        try:
            return await self._calls.make(partial(self._request, texts))
        except EmbedderUnavailableError as error:
            half = len(texts) // 2
            if error.failure.code != "REQUEST_REFUSED" or error.failure.misdirected:
                raise
            if half:
                return np.concatenate([await self._encode(texts[:half]), await self._encode(texts[half:])])
            (text,) = texts
            if len(text) <= SHORTEST_CUT:
                raise
            log.warning("text_cut", extra={"embedder": self._endpoint.provider, "characters": len(text) // 2})
            return await self._encode([text[: len(text) // 2]])

    async def _request(self, texts: list[str], left: float) -> "Vector":
        sent = [writable(text) if text.strip() else INSTEAD_OF_NOTHING for text in texts]
        body = self._protocol.body(self._endpoint.model, sent, self._wanted_dimensions)
        return await self._client.post(self._protocol.path, body, partial(self._read, len(texts)), limit_seconds=left)

    def _read(self, count: int, reply: bytes) -> "Vector":
        """The vectors in a reply, of unit length."""
        import numpy as np

        rows = _rows_in(reply, self._protocol)
        if len(rows) != count or not rows.size:
            raise MalformedAnswerError("the reply does not have a vector for each text")
        if rows.shape[1] != (self._dimension or rows.shape[1]):
            raise EmbedderUnavailableError(self._classifier.wrong_dimension(rows.shape[1], self._dimension))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise MalformedAnswerError("the reply has vectors without a direction")
        return np.asarray(rows / lengths, np.float32)


def _rows_in(reply: bytes, protocol: EmbeddingProtocol) -> "NDArray[np.float64]":
    """The numbers in a reply, as they are."""
    import numpy as np

    try:
        rows = np.array(protocol.rows_of(json.loads(reply)), np.float64)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise MalformedAnswerError("the reply does not follow the provider's protocol") from None
    if rows.ndim != 2:  # noqa: PLR2004 (a row for each text)
        raise MalformedAnswerError("the reply has no rows of numbers")
    return rows


def make_remote(
    provider: Any, settings: EndpointSettings, recorded: "EmbedderIdentity | None", *, dimensions: int | None = None
) -> RemoteEmbedder:
    """The embedder of a provider's settings. A model that they leave open is the recorded one of the workspace."""
    model = (settings.model or (recorded.model if recorded else "") or DEFAULT_MODELS[provider]).strip()
    model = model.removesuffix(":latest")
    endpoint = Endpoint.of(
        f"embedding.{provider}", provider, model=model, base_url=settings.base_url, key=settings.api_key
    )
    prefixes = prefixes_of(model)
    profile = Profile(
        query_prefix=prefixes.query,
        passage_prefix=prefixes.passage,
        batch_texts=settings.batch_texts,
        batch_characters=BATCH_CHARACTERS,
        parallel_batches=settings.parallel_requests,
    )
    limits = Limits(total_seconds=settings.timeout_seconds, open_after_failures=2)
    dimension = recorded.dimension if recorded and recorded.model == model else 0
    return RemoteEmbedder(endpoint, profile, limits, dimension=dimension, dimensions=dimensions)
