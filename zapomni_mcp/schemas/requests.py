"""The arguments of the memory tools."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from zapomni_core.memory.content import LONGEST_QUERY, LONGEST_TEXT
from zapomni_core.memory.engine import MOST_HITS

PAGE = 8000
MOST_REPROCESSED = 1000


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class AddMemoryRequest(_Request):
    """Arguments of add_memory."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    metadata: dict[str, Any] | None = None
    replaces: str | None = None
    wait_for_completion: bool = True

    @field_validator("text")
    @classmethod
    def is_not_blank(cls, text: str) -> str:
        """Text that says nothing is not remembered."""
        return _not_blank("text", text)


class SearchMemoryRequest(_Request):
    """Arguments of search_memory."""

    query: str = Field(min_length=1, max_length=LONGEST_QUERY)
    limit: int = Field(10, ge=1, le=MOST_HITS)
    filters: dict[str, Any] | None = None
    max_tokens: int | None = Field(None, ge=1)

    @field_validator("query")
    @classmethod
    def is_not_blank(cls, query: str) -> str:
        """A query that says nothing finds nothing."""
        return _not_blank("query", query)


class ListMemoriesRequest(_Request):
    """Arguments of list_memories."""

    limit: int = Field(20, ge=1, le=MOST_HITS)
    filters: dict[str, Any] | None = None
    after: str | None = None


class GetStatsRequest(_Request):
    """get_stats takes no arguments."""


class MemoryIdRequest(_Request):
    """Arguments of delete_memory and restore_memory."""

    memory_id: str = Field(min_length=1)


class GetJobRequest(_Request):
    """Arguments of get_job."""

    job_id: str = Field(min_length=1)


class ReprocessRequest(_Request):
    """Arguments of reprocess_memories."""

    memory_ids: list[str] | None = Field(None, max_length=MOST_REPROCESSED)
    limit: int = Field(100, ge=1, le=MOST_REPROCESSED)
    list_only: bool = False


class GetMemoryRequest(MemoryIdRequest):
    """Arguments of get_memory."""

    offset: int = Field(0, ge=0)
    max_chars: int = Field(PAGE, ge=1)


def _not_blank(field: str, text: str) -> str:
    if not text.strip():
        raise ValueError(f"{field} cannot be empty or whitespace-only")
    return text
