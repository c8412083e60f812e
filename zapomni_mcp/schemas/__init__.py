"""What the memory tools take and give, as pydantic models: untrusted data enters here."""

from zapomni_mcp.schemas.requests import (
    AddAndExtractRequest,
    AddMemoryRequest,
    GetJobRequest,
    GetMemoryRequest,
    GetStatsRequest,
    MemoryIdRequest,
    ReprocessRequest,
    SearchMemoryRequest,
)
from zapomni_mcp.schemas.responses import (
    AddMemoryDegraded,
    AddMemoryQueued,
    AddMemoryResponse,
    DeleteMemoryResponse,
    GetJobResponse,
    GetMemoryResponse,
    GetStatsResponse,
    NothingToReprocess,
    ReprocessResponse,
    SearchMemoryResponse,
    SearchResult,
    Statistics,
)

__all__ = [
    "AddAndExtractRequest",
    "AddMemoryDegraded",
    "AddMemoryQueued",
    "AddMemoryRequest",
    "AddMemoryResponse",
    "DeleteMemoryResponse",
    "GetJobRequest",
    "GetJobResponse",
    "GetMemoryRequest",
    "GetMemoryResponse",
    "GetStatsRequest",
    "GetStatsResponse",
    "MemoryIdRequest",
    "NothingToReprocess",
    "ReprocessRequest",
    "ReprocessResponse",
    "SearchMemoryRequest",
    "SearchMemoryResponse",
    "SearchResult",
    "Statistics",
]
