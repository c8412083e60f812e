"""The tools and their answers cost no more tokens than the documentation says, and a tenth. `make tokens` prints them."""

import asyncio
import re
from pathlib import Path

import pytest

from benchmarks.tokens import measure

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-a-model-sees.md"
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<text>[\d,]*) ?\| (?P<structured>[\d,]*) ?\|$", re.MULTILINE)


def number(text):
    return int(text.replace(",", "")) if text else None


@pytest.fixture(scope="module")
def costs():
    return {one.what: one for one in asyncio.run(measure())}


@pytest.fixture(scope="module")
def told():
    _, table = PAGE.read_text(encoding="utf-8").split("<!-- tokens -->")
    rows = {row["what"]: (number(row["text"]), number(row["structured"])) for row in ROW.finditer(table)}
    assert len(rows) > 20
    return rows


def test_the_documentation_has_every_line(costs, told):
    assert told.keys() == costs.keys()


def test_nothing_costs_more_than_is_documented_and_a_tenth(costs, told):
    for what, (text, structured) in told.items():
        for said, measured in ((text, costs[what].text), (structured, costs[what].structured)):
            assert (said is None) is (measured is None), what
            assert measured is None or measured <= said * 1.1 + 1, what


def test_ten_hits_cost_at_most_half_as_much_again_in_structured_form(costs):
    hits = costs["search_memory, ten hits"]
    assert hits.structured <= 1.5 * hits.text


def test_the_instructions_of_all_bundled_plugins_have_at_most_120_tokens(costs):
    assert costs["instructions"].text <= 120
