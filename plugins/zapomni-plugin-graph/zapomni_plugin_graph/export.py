"""Facts as GraphML, JSON lines and Mermaid, written page by page."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

from zapomni_core.plugin.graph import Entity, Relation
from zapomni_plugin_graph.responses import basis_of, fact_with_evidence, moment_text

Facts = AsyncIterator[Relation]
Lines = AsyncIterator[str]

# Characters that XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Characters that control a terminal or end a line; JSON itself escapes only the first 32.
_OBEYED = re.compile("[\x7f-\x9f\u2028\u2029]")
_PLAIN = re.compile(r"[^\w .,:/@+-]")

_NODE_KEYS = ("name", "type")
_EDGE_KEYS = ("relation", "since", "until", "ended_by", "basis", "memory_id", "quote")


async def graphml(facts: Facts) -> Lines:
    """GraphML, as Gephi, yEd and NetworkX read it: a node for each entity, an edge for each fact."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for domain, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        for key in keys:
            yield f'<key id="{domain}_{key}" for="{domain}" attr.name="{key}" attr.type="string"/>'
    yield '<graph edgedefault="directed">'
    written: set[str] = set()
    async for fact in facts:
        for entity in (fact.subject, fact.object):
            if entity.id not in written:
                written.add(entity.id)
                data = _data("node", {"name": entity.name, "type": entity.type})
                yield f"<node id={quoteattr(entity.id)}>{data}</node>"
        newest = fact.evidence[0]
        data = _data(
            "edge",
            {
                "relation": fact.type,
                "since": moment_text(fact.valid_from) if fact.valid_from else "",
                "until": moment_text(fact.valid_until) if fact.valid_until else "",
                "ended_by": fact.ended_by or "",
                "basis": basis_of(fact),
                "memory_id": newest.memory_id,
                "quote": newest.quote,
            },
        )
        ends = f"source={quoteattr(fact.subject.id)} target={quoteattr(fact.object.id)}"
        yield f"<edge id={quoteattr(fact.id)} {ends}>{data}</edge>"
    yield "</graph>"
    yield "</graphml>"


async def jsonl(facts: Facts) -> Lines:
    """One JSON object a line for each fact."""
    async for fact in facts:
        types = {"subject_type": fact.subject.type, "object_type": fact.object.type}
        line = json.dumps(fact_with_evidence(fact) | types, ensure_ascii=False)
        yield _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


async def mermaid(facts: Facts) -> Lines:
    """A Mermaid flowchart; what is over is a dotted line."""
    yield "flowchart LR"
    numbers: dict[str, int] = {}
    now = datetime.now(UTC)

    def node(entity: Entity) -> str:
        is_new = entity.id not in numbers
        number = numbers.setdefault(entity.id, len(numbers) + 1)
        return f"n{number}[{_mermaid_text(entity.name)}]" if is_new else f"n{number}"

    async for fact in facts:
        is_over = fact.valid_until is not None and fact.valid_until <= now
        arrow = "-.->" if is_over else "-->"
        yield f"    {node(fact.subject)} {arrow}|{_mermaid_text(fact.type)}| {node(fact.object)}"


FORMATS: Mapping[str, Callable[[Facts], Lines]] = {"graphml": graphml, "jsonl": jsonl, "mermaid": mermaid}


def _data(domain: str, values: Mapping[str, str]) -> str:
    """The values that are not empty, as GraphML."""
    given = {key: escape(_NOT_XML.sub("\ufffd", value)) for key, value in values.items() if value}
    return "".join(f'<data key="{domain}_{key}">{value}</data>' for key, value in given.items())


def _mermaid_text(text: str) -> str:
    """A quoted text; what Mermaid could take for syntax or markup is written as the number of its character."""
    line = " ".join(text.split())
    return f'"{_PLAIN.sub(lambda found: f"#{ord(found[0])};", line)}"'
