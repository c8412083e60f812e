"""The command `zapomni graph` on a real store."""

import asyncio
import json
import re
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from zapomni_plugin_graph import zapomni_commands

from zapomni_core import Settings
from zapomni_core.plugin import InvalidInputError, MemoryEngine
from zapomni_core.plugin.graph import NewFact
from zapomni_core.testing import HashingEmbedder

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
HOSTILE = "a \"b\" <c> & 'd' ]]> --> |e| #35; `f` %%g \x1b[2J \u2028 \ufffe \U0001f984 \\ {h}; end"
TEXT = "Ada works at Acme. Ada worked at Initech. Acme uses PostgreSQL."


@pytest.fixture
def graph(store):
    """Runs the command on a store with the given facts."""

    def run(facts, *arguments, text=TEXT):
        run.memory_id = asyncio.run(fill(store, facts, text))
        [command] = zapomni_commands(engine=MemoryEngine(Settings(store=store)))
        return CliRunner().invoke(command, list(arguments))

    return run


async def fill(store, facts, text):
    engine = MemoryEngine(Settings(store=store), embedder=HashingEmbedder())
    memory = await engine.add_memory(text)
    for first in range(0, len(facts), 1000):
        await engine.graph.state_facts(engine.workspace, memory.memory_id, facts[first : first + 1000])
    await engine.close()
    return memory.memory_id


def moment(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


WORKED = NewFact(
    subject="Ada", relation="works_at", object="Initech", subject_type="person", until=moment("2020-01-01")
)
FACTS = [
    WORKED,
    NewFact(subject="Ada", relation="works_at", object="Acme", since=moment("2021-05-01")),
    NewFact(subject="Acme", relation="uses", object="PostgreSQL"),
]


def test_facts_are_shown_with_dates_and_evidence(graph):
    result = graph(FACTS, "facts", "ada")
    head, *lines = result.stdout.splitlines()
    assert head == "Ada (person, 1 memory)"
    assert sorted(lines) == [
        f'- Ada works_at Acme (since 2021-05-01) [{graph.memory_id}: "Ada works at Acme."]',
        f'- Ada works_at Initech (until 2020, over) [{graph.memory_id}: "Ada worked at Initech."]',
    ]
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_unknown_name_is_rejected_with_similar_names(graph):
    result = graph(FACTS, "facts", "Ada Lovelace")
    assert isinstance(result.exception, InvalidInputError)
    assert "'Ada Lovelace'" in str(result.exception)
    assert "Similar names: Ada." in str(result.exception)


def test_control_characters_are_removed_from_the_output(graph):
    result = graph([NewFact(subject="Ada", relation="says", object="\x1b[2Jgone")], "facts", "Ada")
    assert "gone" in result.stdout
    assert "\x1b" not in result.stdout


def parsed(form, output):
    """Returns (subject, relation, object) of each exported fact."""
    if form == "jsonl":
        records = [json.loads(line) for line in output.splitlines()]
        return [(one["subject"], one["relation"], one["object"]) for one in records]
    if form == "graphml":
        root = ET.fromstring(output)
        data = lambda part: {one.get("key"): one.text for one in part.iter(f"{GRAPHML}data")}  # noqa: E731
        names = {node.get("id"): data(node)["node_name"] for node in root.iter(f"{GRAPHML}node")}
        return [
            (names[edge.get("source")], data(edge)["edge_relation"], names[edge.get("target")])
            for edge in root.iter(f"{GRAPHML}edge")
        ]
    names = {}
    found = []
    head, *lines = output.splitlines()
    assert head == "flowchart LR"
    for line in lines:
        ends = re.fullmatch(r'    (n\d+)(?:\["([^"]*)"\])? -\.?->\|"([^"]*)"\| (n\d+)(?:\["([^"]*)"\])?', line)
        assert ends, line
        for number, name in ((ends[1], ends[2]), (ends[4], ends[5])):
            names.setdefault(number, re.sub(r"#(\d+);", lambda code: chr(int(code[1])), name or ""))
        found.append((names[ends[1]], ends[3], names[ends[4]]))
    return found


FORMATS = pytest.mark.parametrize("form", ["graphml", "jsonl", "mermaid"])


@FORMATS
def test_current_and_ended_facts_are_exported(graph, form):
    result = graph(FACTS, "export", "--format", form)
    assert result.exit_code == 0, result.output
    assert parsed(form, result.stdout) == [
        ("Ada", "works_at", "Initech"),
        ("Ada", "works_at", "Acme"),
        ("Acme", "uses", "PostgreSQL"),
    ]


@FORMATS
def test_facts_around_an_entity_are_exported(graph, form):
    around = ("export", "--format", form, "--around", "postgresql")
    assert parsed(form, graph(FACTS, *around).stdout) == [("Acme", "uses", "PostgreSQL")]
    assert set(parsed(form, graph(FACTS, *around, "--depth", "2").stdout)) == {
        ("Acme", "uses", "PostgreSQL"),
        ("Ada", "works_at", "Acme"),
    }


@FORMATS
def test_names_cannot_break_a_format(graph, form):
    result = graph([NewFact(subject=HOSTILE, relation="is", object="[x](y)")], "export", "--format", form)
    [(name, relation, other)] = parsed(form, result.stdout)
    assert (relation, other) == ("is", "[x](y)")
    assert "\x1b" not in result.stdout
    lost = {"graphml": str.maketrans("\x1b\ufffe", "\ufffd\ufffd"), "jsonl": {}, "mermaid": {}}[form]
    assert name.split() == HOSTILE.translate(lost).split()


@FORMATS
def test_an_empty_graph_exports_no_facts(graph, form):
    result = graph([], "export", "--format", form)
    assert (result.exit_code, parsed(form, result.stdout)) == (0, [])


def test_facts_beyond_one_page_are_each_exported_once(graph):
    facts = [NewFact(subject="hub", relation="links", object=f"name {number}") for number in range(1234)]
    found = parsed("jsonl", graph(facts, "export", "--format", "jsonl").stdout)
    assert found == [("hub", "links", f"name {number}") for number in range(1234)]


def test_graphml_includes_the_dates_and_evidence_of_each_fact(graph):
    root = ET.fromstring(graph([WORKED], "export", "--format", "graphml").stdout)
    [edge] = root.iter(f"{GRAPHML}edge")
    assert {one.get("key"): one.text for one in edge} == {
        "edge_relation": "works_at",
        "edge_until": "2020-01-01",
        "edge_basis": "stated",
        "edge_memory_id": graph.memory_id,
        "edge_quote": "Ada worked at Initech.",
    }
    declared = {key.get("id") for key in root.iter(f"{GRAPHML}key")}
    assert {one.get("key") for one in root.iter(f"{GRAPHML}data")} <= declared


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--format", "pdf"),
        ("--format", "jsonl", "--depth", "2"),
        ("--format", "jsonl", "--around", "x", "--depth", "4"),
    ],
)
def test_invalid_options_are_rejected(graph, arguments):
    assert graph([], "export", *arguments).exit_code == 2


def test_an_export_around_an_unknown_name_is_rejected(graph):
    result = graph(FACTS, "export", "--format", "jsonl", "--around", "nobody")
    assert isinstance(result.exception, InvalidInputError)
