"""Models of sessions, messages and documents, and of what an agent exchanges with people."""

from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model, with_config
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

EMBEDDING_DIMENSION = 1536
LONGEST_USER_ID = 255

Role = Literal["user", "assistant", "system"]
RiskLevel = Literal["reversible", "reversible_with_delay", "irreversible"]


class Session(BaseModel):
    """A conversation with one user."""

    id: UUID = Field(description="Unique session identifier")
    user_id: str = Field(max_length=LONGEST_USER_ID, description="User identifier")
    created_at: datetime = Field(description="Session creation timestamp (UTC)")
    updated_at: datetime = Field(description="Last activity timestamp (UTC)")
    metadata_: dict[str, Any] = Field(default_factory=dict, description="Flexible session metadata")


class Message(BaseModel):
    """Something that was said in a session."""

    id: UUID = Field(description="Unique message identifier")
    session_id: UUID = Field(description="Parent session reference")
    role: Role = Field(description="Message role")
    content: str = Field(min_length=1, description="Message content")
    created_at: datetime = Field(description="Message creation timestamp (UTC)")
    metadata_: dict[str, Any] = Field(default_factory=dict, description="Flexible message metadata")


class Document(BaseModel):
    """A text that was kept on its own, with the vector that the caller gave with it."""

    id: UUID = Field(description="Unique document identifier")
    content: str = Field(min_length=1, description="Document content")
    embedding: Annotated[list[float], Field(min_length=EMBEDDING_DIMENSION, max_length=EMBEDDING_DIMENSION)] | None = (
        Field(default=None, description=f"{EMBEDDING_DIMENSION}-dimensional vector embedding (nullable)")
    )
    metadata_: dict[str, Any] = Field(default_factory=dict, description="Flexible document metadata")
    created_at: datetime = Field(description="Document creation timestamp (UTC)")
    updated_at: datetime = Field(description="Last update timestamp (UTC)")


@cache
def document_of(dimension: int) -> type[Document]:
    """The model of documents whose vectors have another dimension."""
    if dimension == EMBEDDING_DIMENSION:
        return Document
    vector: Any = Annotated[list[float], Field(min_length=dimension, max_length=dimension)]
    described = Field(default=None, description=f"{dimension}-dimensional vector embedding (nullable)")
    return create_model("Document", __base__=Document, embedding=(vector | None, described))


@with_config(ConfigDict(extra="allow"))
class ToolCall(TypedDict, total=False):
    """A tool that was called, with what and what came of it."""

    name: str
    args: dict[str, Any]
    result: Any


class AgentResponse(BaseModel):
    """An agent's answer, and how sure it is."""

    answer: str = Field(description="The agent's response text")
    reasoning: str | None = Field(default=None, description="Explanation of agent's reasoning process (nullable)")
    tool_calls: list[ToolCall] = Field(default_factory=list, description="List of tool calls made")
    confidence: float = Field(ge=0.0, le=1.0, description="Confidence score (0.0-1.0)")
    timestamp: datetime = Field(description="Response generation timestamp (UTC)")


class ToolGapReport(BaseModel):
    """Which tools an agent would have needed."""

    missing_tools: list[str] = Field(description="List of required tool names that are missing")
    attempted_task: str = Field(description="Description of the task that failed")
    existing_tools_checked: list[str] = Field(description="List of existing tools evaluated")
    proposed_mcp_server: str | None = Field(default=None, description="Proposed MCP server name (nullable)")


class ApprovalRequest(BaseModel):
    """A question of an agent to a person before it acts."""

    action_type: str = Field(description="Type of action (e.g., 'send_email', 'delete_file')")
    action_description: str = Field(description="Human-readable description of the action")
    confidence: float = Field(ge=0.0, le=1.0, description="Agent's confidence (0.0-1.0)")
    risk_level: RiskLevel = Field(description="Risk category")
    tool_name: str = Field(description="Name of the tool that will execute")
    parameters: dict[str, Any] = Field(description="Parameters for the tool")
    requires_immediate_approval: bool = Field(description="If true, action blocks until approval")
    timeout_seconds: int | None = Field(default=None, ge=1, description="Auto-reject after N seconds (nullable)")
