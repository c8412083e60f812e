import pytest
from zapomni_plugin_graph.formatting import short


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one line", "one line"),
        (" a  quote\nof\ttwo\u2028lines\u00a0", "a quote of two lines"),
        ("12345678901", "123456789…"),
        ("1234 \n 678", "1234 678"),
        ("a\x00b", "a\x00b"),
        ("", ""),
    ],
)
def test_a_quote_is_shortened_to_one_line_of_the_requested_length(text, line):
    assert short(text, 20 if " " in text else 10) == line
