"""What the memory tools take and give, as pydantic models: untrusted data enters here."""

from zapomni_mcp.schemas.requests import (
    AddMemoryRequest,
    GetMemoryRequest,
    GetStatsRequest,
    MemoryIdRequest,
    SearchMemoryRequest,
)
from zapomni_mcp.schemas.responses import (
    AddMemoryResponse,
    DeleteMemoryResponse,
    GetMemoryResponse,
    GetStatsResponse,
    SearchHitResponse,
    SearchMemoryResponse,
    Statistics,
)

__all__ = [
    "AddMemoryRequest",
    "AddMemoryResponse",
    "DeleteMemoryResponse",
    "GetMemoryRequest",
    "GetMemoryResponse",
    "GetStatsRequest",
    "GetStatsResponse",
    "MemoryIdRequest",
    "SearchHitResponse",
    "SearchMemoryRequest",
    "SearchMemoryResponse",
    "Statistics",
]
