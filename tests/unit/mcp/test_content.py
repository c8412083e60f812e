"""The MCP library can send all content that the dispatch accepts, in both eras of the protocol."""

import mcp_types._v2025_11_25 as handshake_era
import mcp_types._v2026_07_28 as modern_era
from hypothesis import given, settings
from hypothesis import strategies as st

from zapomni_core.host.registry import ToolRegistry
from zapomni_core.responses import check_result
from zapomni_core.tool import content_problem

BESIDE = ["annotations", "_meta", "size", "title", "description", "icons", "mimeType", "text", "name"]
WITHIN = ["audience", "priority", "lastModified", "src", "sizes", "theme", "uri", "text", "blob", "mimeType", "_meta"]
leaves = (
    st.none() | st.booleans() | st.integers(-1, 2) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", "user", "dark", "text"])
)  # fmt: skip
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WITHIN), inner, max_size=4)
)
extras = st.dictionaries(st.sampled_from(BESIDE), values, max_size=3)
resources = st.fixed_dictionaries({"uri": st.just("a:b"), "text": st.just("x")}) | values
parts = st.sampled_from(
    [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "a:b", "name": "one"},
    ]
)
content = st.builds(lambda part, more: part | more, parts, extras) | st.builds(
    lambda resource, more: {"type": "resource", "resource": resource} | more, resources, extras
)


class Tool:
    name = "probe"
    description = "A tool for the tests of content"
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 (as authors write it)

    async def execute(self, _arguments):
        raise AssertionError


PROBE = ToolRegistry().register(Tool())


@settings(max_examples=300)
@given(content)
def test_valid_results_can_be_sent(part):
    result = {"content": [part], "isError": False}
    if (check_result(result, PROBE) or content_problem(result)) is None:
        handshake_era.CallToolResult.model_validate(result)
        modern_era.CallToolResult.model_validate(result | {"resultType": "complete"})
