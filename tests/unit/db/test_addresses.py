"""The URLs of stores that are servers."""

import pytest

from zapomni_db.addresses import FalkorDBAddress, parse_falkordb_url


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("falkordb://db.example", FalkorDBAddress("db.example", 6379, "zapomni")),
        ("falkordb://db.example/", FalkorDBAddress("db.example", 6379, "zapomni")),
        ("falkordb://ann:p%40ss%2Fw@10.0.0.5:7000/team", FalkorDBAddress("10.0.0.5", 7000, "team", "ann", "p@ss/w")),
        ("falkordb://:secret@h/a%2Fb%20c", FalkorDBAddress("h", 6379, "a/b c", None, "secret")),
        ("falkordbs://[::1]:6380/g", FalkorDBAddress("::1", 6380, "g", tls=True)),
    ],
)
def test_a_url_names_host_port_graph_user_and_password(url, address):
    assert parse_falkordb_url(url) == address


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("", "host"),
        ("hunter2:hunter2@/g", "host"),
        ("u:hunter2@h:0/g", "port"),
        ("u:hunter2@h:65536", "port"),
        ("u:hunter2@h:redis/g", "port"),
        ("u:hunter2@h/g/more", "graph"),
        ("u:hunter2@h/g?tls=1", "graph"),
        ("u:hunter2/@h", "port"),
        ("u:hunter2[@h", "must be written"),
        ("u:hunter2\u2100@h", "must be written"),
    ],
)
def test_a_wrong_url_is_refused_without_showing_the_password(rest, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        parse_falkordb_url(f"falkordb://{rest}")
    assert "hunter2" not in str(caught.value)
