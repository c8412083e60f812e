"""`zapomni add`."""

import pytest

from zapomni_core.testing.llm_server import LLMServer


def test_a_text_is_stored_once(zapomni):
    first = zapomni("add", "The piano is in the cellar")
    assert first.exit_code == 0
    assert first.stdout.startswith("Stored: ")
    assert first.stdout.endswith("(1 chunk)\nThe piano is in the cellar\n")
    assert zapomni("add", "The piano is in the cellar").stdout.startswith("Already remembered: ")


def test_a_deleted_memory_is_restored_by_adding_it_again(zapomni, remember):
    zapomni("delete", remember("Come back"))
    assert "restored" in zapomni("add", "Come back").stdout


def test_metadata_options_are_stored_with_the_text(document, remember):
    options = ["--tag", "a", "--tag", "b", "--source", "s", "--author", "Ada", "--conversation", "c"]
    more = ["--timestamp", "2024-05-08", "--language", "text", "--metadata", '{"project": "x"}']
    memory = document("get", remember("A text", *options, *more))
    assert memory["metadata"] == {
        "tags": ["a", "b"],
        "source": "s",
        "author": "Ada",
        "conversation": "c",
        "timestamp": "2024-05-08",
        "language": "text",
        "project": "x",
    }
    assert memory["timestamp"] == "2024-05-08T00:00:00Z"


@pytest.mark.parametrize("args", [["add"], ["add", "-"]])
def test_standard_input_is_stored(zapomni, document, args):
    added = document(*args, input="From a pipe\r\nwith two lines\n")
    assert zapomni("get", added["memory_id"]).stdout_bytes == b"From a pipe\r\nwith two lines\n"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("notes.md", "markdown"),
        ("tool.py", "python"),
        ("a.YML", "yaml"),
        ("q.sql", "sql"),
        ("LICENSE", None),
        ("x.qqq", None),
    ],
)
def test_source_and_language_come_from_the_name_of_the_file(document, tmp_path, name, language):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbftext = 1\n")
    memory = document("get", document("add", "--file", str(tmp_path / name))["memory_id"])
    assert memory["text"] == "text = 1"
    assert memory["metadata"] == {"source": name} | ({"language": language} if language else {})


def test_several_files_are_refused_and_nothing_is_stored(zapomni, document, tmp_path):
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for file in files:
        file.write_text("The bridge is closed.")
    result = zapomni("add", "--file", str(files[0]), "--file", str(files[1]))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'--file'" in result.stderr
    assert document("stats")["total_memories"] == 0


def test_options_override_the_name_of_the_file(document, tmp_path):
    (tmp_path / "a.md").write_text("text")
    added = document("add", "--file", str(tmp_path / "a.md"), "--source", "mine", "--metadata", '{"language": "text"}')
    assert document("get", added["memory_id"])["metadata"] == {"source": "mine", "language": "text"}


def test_a_correction_replaces_and_keeps_the_old_one_readable(zapomni, document, remember):
    old = remember("The meeting is on Monday")
    result = zapomni("add", "The meeting is on Friday", "--replaces", old)
    assert f"It replaces {old}" in result.stdout
    assert document("get", old)["replaced_by"]
    assert "replaced by: " in zapomni("get", old).stderr
    assert [hit["text"] for hit in document("search", "meeting")["hits"]] == ["The meeting is on Friday"]


def test_a_correction_can_be_repeated(document, remember):
    old = remember("word one")
    first, second = (document("add", "word two", "--replaces", old) for _ in range(2))
    assert (second["memory_id"], second["outcome"], second["replaced"]) == (first["memory_id"], "existing", old)


def test_bytes_that_are_not_utf_8_are_refused(zapomni):
    result = zapomni("add", "-", input=b"\xff\xfe")
    assert result.exit_code == 2
    assert "UTF-8" in result.stderr


@pytest.mark.parametrize("length", [10_000_001, 40_000_001])
def test_a_file_that_is_too_long_is_refused(zapomni, tmp_path, length):
    (tmp_path / "long.txt").write_text("x" * length)
    result = zapomni("add", "--file", str(tmp_path / "long.txt"))
    assert (result.exit_code, result.stderr) == (2, "Error: text exceeds maximum length (10,000,000 characters)\n")


def test_without_a_text_on_a_terminal_add_names_the_missing_field(zapomni_on_terminal):
    result = zapomni_on_terminal("add")
    assert result.exit_code == 2
    assert "field required: text" in result.stderr


@pytest.mark.parametrize(
    ("mode", "code", "expected"),
    [
        ("fail", 1, "Error: Cannot reach LLM provider. Check network connection."),
        ("store_raw", 0, "Cannot reach LLM provider."),
        ("queue_retry", 0, "zapomni jobs"),
    ],
)
def test_add_reports_the_outcome_while_the_language_model_is_unreachable(zapomni, monkeypatch, mode, code, expected):
    with LLMServer() as server:
        server.down()
        variables = {"EXTRACTOR": "llm", "LLM__PROVIDER": "ollama", "LLM__MODEL": "any", "LLM__BASE_URL": server.url}
        for name, value in {**variables, "ON_LLM_UNAVAILABLE": mode}.items():
            monkeypatch.setenv(f"ZAPOMNI_{name}", value)
        result = zapomni("add", "Ada works at Acme.")
    assert result.exit_code == code
    assert expected in result.output
    assert ("Nothing was stored." in result.output) == (mode == "fail")


def test_add_reports_the_number_of_extracted_entities(zapomni, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EXTRACTOR", "names")
    result = zapomni("add", "Today Ada Lovelace works at Babbage Engines.")
    assert "2 entities and 1 relation" in result.output
