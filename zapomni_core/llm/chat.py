"""The formats of providers: their requests, and the place of the answer in their replies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question: the model, the prompts, and the JSON Schema of the answer."""

    model: str
    system: str
    prompt: str
    schema: Schema

    @property
    def messages(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.prompt}]


@dataclass(frozen=True, slots=True)
class ChatProtocol:
    """The format of a provider's requests, and the place of the answer's text in its replies.

    `text_of` raises LookupError or TypeError if a reply does not follow the protocol.
    """

    path: str
    body: Callable[[Question], dict[str, Any]]
    text_of: Callable[[Any], Any]


def _ollama_body(question: Question) -> dict[str, Any]:
    return {
        "model": question.model,
        "messages": question.messages,
        "stream": False,
        "format": question.schema,
        "options": {"temperature": 0},
    }


def _openai_body(question: Question) -> dict[str, Any]:
    # No temperature: reasoning models refuse a request that sets it.
    form = {"name": "answer", "schema": question.schema, "strict": is_closed(question.schema)}
    return {
        "model": question.model,
        "messages": question.messages,
        "response_format": {"type": "json_schema", "json_schema": form},
    }


def is_closed(schema: Any) -> bool:
    """Whether every object in the schema lists and requires all its properties; OpenAI refuses `strict` otherwise."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            return False
    return all(map(is_closed, schema.values()))


OLLAMA = ChatProtocol("/api/chat", _ollama_body, lambda reply: reply["message"]["content"])
OPENAI = ChatProtocol("/chat/completions", _openai_body, lambda reply: reply["choices"][0]["message"]["content"])
PROTOCOLS = {"ollama": OLLAMA, "openai": OPENAI}
