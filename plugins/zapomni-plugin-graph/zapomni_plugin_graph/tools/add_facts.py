"""add_facts: state what a memory says, as facts."""

from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from zapomni_core.plugin import InvalidInputError, counted
from zapomni_core.plugin.graph import FactsStated, NewFact
from zapomni_plugin_graph.formatting import fact_text
from zapomni_plugin_graph.responses import AddFactsResponse, fact_record
from zapomni_plugin_graph.tool import MOST_PROBLEMS, GraphTool, Moment, Request, problems_in

MOST_FACTS = 50


class Fact(Request):
    """One of the facts; the store checks its names."""

    subject: str
    relation: str
    object: str
    subject_type: str = ""
    object_type: str = ""
    since: Moment | None = None
    until: Moment | None = None
    quote: str = ""
    replaces: bool = False


class AddFactsRequest(Request):
    """Arguments of add_facts."""

    memory_id: str
    facts: list[Any]


class AddFactsTool(GraphTool[AddFactsRequest]):
    """Keeps what an agent states, with a memory as evidence."""

    name = "add_facts"
    title = "State facts"
    description = (
        "State facts that a memory says: who owns, uses or works at what. "
        "To end one, state it again with until, or state what took its place with replaces."
    )
    instructions = (
        "After add_memory, call add_facts with what the text says about people, projects and things; "
        "get_related answers what is or was true of them."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "memory_id": {"type": "string", "description": "ID of the memory."},
            "facts": {
                "type": "array",
                "description": f"At most {MOST_FACTS}.",
                "items": {
                    "type": "object",
                    "properties": {
                        "subject": {"type": "string", "description": "A name."},
                        "relation": {"type": "string", "description": "Such as works_at."},
                        "object": {"type": "string"},
                        "subject_type": {"type": "string", "description": "Such as person."},
                        "object_type": {"type": "string"},
                        "since": {"type": "string", "description": "ISO date."},
                        "until": {"type": "string"},
                        "quote": {"type": "string", "description": "Of the memory."},
                        "replaces": {
                            "type": "boolean",
                            "description": "Ends others of this subject and relation.",
                        },
                    },
                    "required": ["subject", "relation", "object"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["memory_id", "facts"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, bool]] = {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    request = AddFactsRequest
    responses = (AddFactsResponse,)
    # The facts are checked here, where an error can name the fact by its number.
    unlisted_arguments = {"facts": {"type": "array", "minItems": 1, "maxItems": MOST_FACTS}}  # noqa: RUF012 (see above)

    async def _answer(self, request: AddFactsRequest) -> tuple[str, BaseModel]:
        facts = _facts(request.facts)
        engine = self.engine
        stated = await engine.graph.state_facts(engine.workspace, request.memory_id, facts, by=engine.by)
        text = _text(stated)
        response = AddFactsResponse(
            message=text,
            memory_id=request.memory_id,
            new=stated.new,
            known=stated.known,
            ended=stated.ended,
            also_current=[fact_record(one) for one in stated.also_current],
        )
        return text, response


def _facts(given: list[Any]) -> list[NewFact]:
    """The facts; InvalidInputError names all that are wrong, by their numbers."""
    facts: list[NewFact] = []
    problems: list[str] = []
    for number, one in enumerate(given, start=1):
        try:
            facts.append(_fact(number, one))
        except InvalidInputError as error:
            problems.append(str(error))
    if problems:
        raise InvalidInputError("; ".join(problems[:MOST_PROBLEMS]))
    return facts


def _fact(number: int, given: Any) -> NewFact:
    if not isinstance(given, dict):
        raise InvalidInputError(f"fact {number}: must be an object with subject, relation and object")
    try:
        return NewFact(**dict(Fact.model_validate(given)))
    except ValidationError as error:
        raise InvalidInputError(f"fact {number}: {problems_in(error)}") from None


def _text(stated: FactsStated) -> str:
    parts = [
        counted(stated.new, "new fact", "new facts") if stated.new or not stated.known else "",
        f"{stated.known:,} known already" if stated.known else "",
        f"{stated.ended:,} ended" if stated.ended else "",
    ]
    lines = [f"{', '.join(filter(None, parts))}."]
    if stated.also_current:
        lines.append(f"Also current: {'; '.join(map(fact_text, stated.also_current))}.")
    return "\n".join(lines)
