"""The commands on memories: add, search, list, get, edit, history, delete, restore, purge, stats, backup, reindex."""

import json
import os
import pty
import re
import signal

import pytest

from zapomni_core.testing.llm_server import LLMServer
from zapomni_mcp.cli import progress

from .conftest import START, finish, on_a_terminal, shown_on_a_terminal

NOBODY = "00000000-0000-0000-0000-000000000000"
ALL = [
    ["add", "x"],
    ["search", "x"],
    ["list"],
    ["get", NOBODY],
    ["edit", NOBODY, "--tag", "x"],
    ["history", NOBODY],
    ["delete", NOBODY],
    ["restore", NOBODY],
    ["purge", "--yes"],
    ["stats"],
    ["backup", "copy.db"],
    ["reindex"],
]
every_command = pytest.mark.parametrize("command", ALL, ids=lambda command: command[0])


def test_what_a_call_stored_is_found_by_its_meaning_afterwards(zapomni, document, monkeypatch):
    monkeypatch.setattr("zapomni_core.engine.SETTLE_SECONDS", 60)
    stored = zapomni("call", "store_document", '{"content": "The heron nests near the pond."}')
    assert (stored.exit_code, stored.stderr) == (0, "")
    (hit,) = document("search", "pondlike heronry")["hits"]
    assert (hit["text"], hit["why"]) == ("The heron nests near the pond.", ["meaning"])


def test_a_text_is_remembered_once(zapomni):
    first = zapomni("add", "The piano is in the cellar")
    assert first.exit_code == 0
    assert first.stdout.startswith("Stored: ")
    assert first.stdout.endswith("(1 chunk)\nThe piano is in the cellar\n")
    assert zapomni("add", "The piano is in the cellar").stdout.startswith("Already remembered: ")


def test_what_was_deleted_is_restored_by_adding_it_again(zapomni, remember):
    zapomni("delete", remember("Come back"))
    assert "restored" in zapomni("add", "Come back").stdout


def test_what_is_said_of_a_text_is_kept_with_it(document, remember):
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
def test_standard_input_is_remembered(zapomni, document, args):
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
def test_a_file_tells_its_source_and_its_language_by_its_name(document, tmp_path, name, language):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbftext = 1\n")
    memory = document("get", document("add", "--file", str(tmp_path / name))["memory_id"])
    assert memory["text"] == "text = 1"
    assert memory["metadata"] == {"source": name} | ({"language": language} if language else {})


def test_of_several_files_none_is_left_out_without_a_word(zapomni, document, tmp_path):
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for file in files:
        file.write_text("The bridge is closed.")
    result = zapomni("add", "--file", str(files[0]), "--file", str(files[1]))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'--file': give one file at a time" in result.stderr
    assert document("stats")["total_memories"] == 0


def test_options_have_the_last_word_over_a_files_name(document, tmp_path):
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


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["add", ""], "empty"),
        (["add", ""], "text cannot be empty or whitespace-only"),
        (["add", " "], "text cannot be empty or whitespace-only"),
        (["add", "x", "--timestamp", "yesterday"], "metadata.timestamp"),
        (["add", "x", "--metadata", "{"], "no JSON"),
        (["add", "x", "--metadata", "[]"], "no JSON object"),
        (["add", "x", "--file", __file__], "both given"),
        (["add", "--file", "none.md"], "does not exist"),
        (["add", "--file", "."], "is a directory"),
        (["add", "x", "--workspace", ""], "--workspace"),
        (["add", "x", "--workspace", "a\nb"], "--workspace: must not contain control characters"),
        (["search"], "QUERY"),
        (["search", " "], "query"),
        (["search", "x", "--limit", "0"], "limit"),
        (["search", "x", "--limit", "many"], "--limit"),
        (["search", "x", "--max-tokens", "0"], "--max-tokens"),
        (["search", "x", "--from", "tomorrow"], "date_from"),
        (["search", "x", "--filter", "1"], "no JSON object"),
        (["get"], "ID"),
        (["delete"], "ID"),
        (["purge", "--days", "-1", "--yes"], "--days"),
        (["purge"], "--yes"),
        (["backup"], "TARGET"),
        (["search", "x", "--tag", "a", "--filter", '{"tags": ["b"]}'], "tags: given in --filter and by an option"),
        (
            ["add", "x", "--source", "a", "--metadata", '{"source": "b"}'],
            "source: given in --metadata and by an option",
        ),
        (["restore-backup", "nowhere.db"], "does not exist"),
        (["backup", "."], "is a directory"),
        (["backup", "no/such/place.db"], "There is no directory"),
        (["reindex", "--embedder", "hashin"], "did you mean 'hashing'?"),
        (["search", "bad \udcff argument"], "query must not contain lone surrogates"),
        (["search", "x", "--source", "\udcff"], "filters.source must not contain lone surrogates"),
    ],
    ids=lambda value: ascii(" ".join(value if isinstance(value, list) else sorted(value))),
)
def test_nonsense_is_refused_with_2_and_no_traceback(zapomni, args, told):
    result = zapomni(*args)
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert result.stdout == ""


SAYING_SOMETHING = {
    "search": ["--tag", "--source", "--author", "--conversation", "--kind", "--from", "--to"],
    "add": ["--tag", "--source", "--author", "--conversation", "--timestamp", "--language", "--replaces"],
    "reindex": ["--embedder"],
}


@pytest.mark.parametrize(
    ("command", "option"), [(command, option) for command, options in SAYING_SOMETHING.items() for option in options]
)
def test_an_option_without_a_value_is_not_taken_for_none(zapomni, document, command, option):
    result = zapomni(command, *(["x"] if command != "reindex" else []), option, "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Invalid value for '{option}': it must not be empty" in result.stderr
    assert document("stats")["total_memories"] == 0


def test_bytes_that_are_no_text_are_refused(zapomni):
    result = zapomni("add", "-", input=b"\xff\xfe")
    assert (result.exit_code, result.stderr) == (2, "Error: Standard input is no text in UTF-8\n")


@pytest.mark.parametrize("length", [10_000_001, 40_000_001])
def test_a_file_that_is_too_long_is_refused(zapomni, tmp_path, length):
    (tmp_path / "long.txt").write_text("x" * length)
    result = zapomni("add", "--file", str(tmp_path / "long.txt"))
    assert (result.exit_code, result.stderr) == (2, "Error: text exceeds maximum length (10,000,000 characters)\n")


def test_without_a_text_on_a_terminal_add_says_what_it_takes(start, embedders):
    code, _, errors = on_a_terminal(start, "add")
    assert code == 2
    assert "field required: text" in errors
    assert "give a TEXT, or --file FILE, or -" in errors


def test_a_search_shows_score_reason_date_source_and_id(zapomni, remember):
    found = remember(
        "The piano is in the cellar", "--source", "letters", "--author", "Ada", "--timestamp", "2024-05-08"
    )
    remember("Tea is in the cupboard")
    result = zapomni("search", "piano")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Found ")
    assert "2 memories in workspace 'default'" in lines[0]
    parts = lines[2].split(" · ")
    assert re.fullmatch(r"1\. [01]\.\d\d", parts[0])
    assert parts[1:] == ["piano", "2024-05-08", "letters", "Ada", found]
    assert lines[3] == "   The piano is in the cellar"


def test_a_found_text_is_wrapped_and_keeps_its_lines(zapomni, remember, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    remember("def piano():\n    return 1  # " + "very " * 12 + "long")
    lines = zapomni("search", "piano").stdout.splitlines()[3:]
    assert lines[0] == "   def piano():"
    assert lines[1].startswith("       return 1  #")
    assert len(lines) > 3
    assert max(map(len, lines)) <= 40


def test_control_characters_of_a_memory_reach_no_terminal(zapomni, remember):
    memory = remember("red \x1b[31m text", "--source", "s\x1b[2J")
    assert "\x1b" not in zapomni("search", "red").stdout
    result = zapomni("get", memory)
    assert "\x1b" not in result.stderr
    assert result.stdout == "red \x1b[31m text\n"  # no terminal here: the exact text


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--tag", "a"], {"one", "two"}),
        (["--tag", "a", "--tag", "b"], {"two"}),
        (["--source", "s", "--source", "t"], {"one", "two"}),
        (["--author", "Ada"], {"one"}),
        (["--conversation", "c"], {"two"}),
        (["--from", "2024-01-01"], {"two", "three"}),
        (["--to", "2023-06-01"], {"one"}),
        (["--filter", '{"n": [2, 3]}'], {"two", "three"}),
        (["--limit", "1"], {"one"}),
    ],
    ids=lambda value: " ".join(value if isinstance(value, list) else sorted(value)),
)
def test_filters_narrow_a_search(document, remember, options, found):
    remember("word one", "--tag", "a", "--source", "s", "--author", "Ada", "--timestamp", "2023-06-01")
    remember("word two", "--tag", "a", "--tag", "b", "--source", "t", "--conversation", "c", "--metadata", '{"n": 2}')
    remember("word three", "--metadata", '{"n": 3}')
    hits = document("search", "word one", *options)["hits"]
    assert {hit["text"].split()[1] for hit in hits} == found


def test_nothing_found_says_what_was_searched(zapomni, remember):
    assert zapomni("search", "x").stdout == "Nothing found among 0 memories in workspace 'default'.\n"
    remember("something")
    told = zapomni("search", "x", "--tag", "none").stdout
    assert told == "Nothing found among 0 memories in workspace 'default' that meet the filters.\n"


def test_max_tokens_cuts_the_answer(document, remember):
    remember("First sentence. " * 20)
    assert len(document("search", "sentence", "--max-tokens", "10")["hits"][0]["text"]) <= 40


def test_get_prints_the_text_and_tells_the_rest_on_standard_error(zapomni, remember):
    memory = remember("One\n\n  two\tthree", "--tag", "t")
    result = zapomni("get", memory)
    assert result.stdout == "One\n\n  two\tthree\n"
    assert result.stderr.splitlines()[0] == f"id: {memory}"
    assert 'tags: ["t"]' in result.stderr


def test_messages_and_documents_are_shown_as_such_and_can_be_asked_for(zapomni, remember):
    remember("A heron of a memory")
    session = "5f6c3a52-0000-4000-8000-000000000001"
    said = {"session_id": session, "role": "user", "content": "A heron of a message"}
    zapomni("call", "store_message", json.dumps(said))
    zapomni("call", "store_document", '{"content": "A heron of a document"}')
    shown = zapomni("search", "heron", "--kind", "message").stdout
    assert f" · message by user in session {session} · " in shown
    assert "among 1 memory in workspace 'default' that meet the filters" in shown
    both = zapomni("search", "heron", "--kind", "document", "--kind", "memory").stdout
    assert both.count(" · document · ") == 1
    assert "of a memory" in both
    message_id = shown.splitlines()[2].rpartition(" · ")[2]
    assert f"kind: message by user in session {session}" in zapomni("get", message_id).stderr


@pytest.mark.parametrize("command", ["get", "delete", "restore"])
def test_a_memory_that_is_not_there_is_a_sentence_and_1(zapomni, command):
    result = zapomni(command, NOBODY)
    assert result.exit_code == 1
    assert result.stdout == ""
    what = "deleted memory" if command == "restore" else "memory"
    assert result.stderr == f"Error: there is no {what} {NOBODY} in workspace 'default'\n"


def test_deleting_hides_and_restoring_brings_back(zapomni, document, remember):
    one, two = remember("word one"), remember("word two")
    result = zapomni("delete", one, two)
    assert result.stdout == f"deleted {one}: word one\ndeleted {two}: word two\n"
    assert document("search", "word")["hits"] == []
    assert "deleted: " in zapomni("get", one).stderr
    assert zapomni("restore", one).stdout == f"restored {one}: word one\n"
    assert document("restore", two) == {"restored": [two], "replaced": {}, "same": {}, "missing": []}
    assert len(document("search", "word")["hits"]) == 2


def test_restoring_what_is_still_replaced_says_so_and_how_to_bring_it_back(zapomni, document, remember):
    old = remember("word one")
    new = remember("word two", "--replaces", old)
    zapomni("delete", old)
    first, second = zapomni("restore", old).stdout.splitlines()
    assert first == f"still replaced {old}: word one"
    assert f"no search finds it: {new}, which is kept, replaces it." in second
    zapomni("delete", old)
    assert document("restore", old) == {"restored": [], "replaced": {old: new}, "same": {}, "missing": []}
    for command, memory in re.findall(r"zapomni (delete|restore) (\S+)", second):
        zapomni(command, memory)
    (hit,) = document("search", "word")["hits"]
    assert hit["memory_id"] == old


def test_restoring_what_was_added_again_names_the_one_that_is_there(zapomni, document, remember):
    old = remember("word one")
    new = remember("word two", "--replaces", old)
    same = remember("word one")
    zapomni("delete", new)
    assert zapomni("restore", old).stdout == (
        f"the same is there as {same}: word one\n"
        f"It was added again after {old} was replaced: {old} did not have to be restored.\n"
    )
    assert document("restore", old) == {"restored": [], "replaced": {}, "same": {old: same}, "missing": []}


def test_a_correction_can_be_repeated(document, remember):
    old = remember("word one")
    first, second = (document("add", "word two", "--replaces", old) for _ in range(2))
    assert (second["memory_id"], second["outcome"], second["replaced"]) == (first["memory_id"], "existing", old)


def test_what_is_there_is_deleted_although_something_else_is_not(zapomni, document, remember):
    memory = remember("word")
    result = zapomni("delete", NOBODY, memory, memory, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"deleted": [memory], "missing": [NOBODY]}


def test_a_search_is_narrowed_by_nested_metadata(document, remember):
    oslo = remember("herons", "--metadata", '{"place": {"city": "Oslo", "year": 2026}}')
    remember("herons again", "--metadata", '{"place": {"city": "Bergen"}}')
    found = document("search", "herons", "--filter", '{"place": {"city": "Oslo"}}')
    assert [hit["memory_id"] for hit in found["hits"]] == [oslo]


def test_purging_removes_for_good_what_was_deleted_and_named(zapomni, remember):
    gone, stays = remember("gone"), remember("stays")
    zapomni("delete", gone)
    result = zapomni("purge", gone, stays, "--yes")
    assert (result.exit_code, result.stdout) == (1, "Removed 1 memory for good.\n")
    assert "1 memory not removed" in result.stderr
    assert zapomni("get", gone).exit_code == 1
    assert zapomni("get", stays).exit_code == 0


def test_purging_removes_all_that_is_deleted_unless_days_spare_what_was_deleted_recently(zapomni, document, remember):
    remember("stays")
    zapomni("delete", remember("gone"), remember("gone too"))
    assert document("purge", "--yes", "--days", "1") == {"removed": 0}
    assert document("purge", "--yes") == {"removed": 2}
    assert document("stats")["total_memories"] == 1


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_purging_shows_what_it_would_remove_and_asks_on_a_terminal(
    zapomni, start, embedders, document, remember, answer, code, left
):
    stays, gone = remember("stays"), remember("gone")
    zapomni("delete", gone)
    ended, output, errors = on_a_terminal(start, "--plugin", embedders, "purge", typed=f"{answer}\n")
    assert (ended, "Removed" in output) == (code, left == 0), errors
    assert f"{gone}: gone" in errors
    assert stays not in errors
    assert document("stats")["deleted_memories"] == left


def test_purging_by_name_asks_only_about_what_is_named_and_deleted(zapomni, start, embedders, document, remember):
    stays, gone, other = remember("stays"), remember("gone"), remember("other")
    zapomni("delete", gone, other)
    ended, output, errors = on_a_terminal(start, "--plugin", embedders, "purge", stays, gone, typed="y\n")
    assert (ended, "Removed 1 memory" in output) == (1, True), errors
    assert other not in errors
    assert document("stats")["deleted_memories"] == 1


def test_purging_on_a_terminal_asks_nothing_where_nothing_is_deleted(start, embedders, remember):
    remember("stays")
    ended, output, errors = on_a_terminal(start, "--plugin", embedders, "purge")
    assert (ended, output, errors) == (0, "Removed 0 memories for good.\n", "")


def test_statistics_count_and_name_the_parts(zapomni, document, remember, home):
    remember("one")
    remember("elsewhere", "--workspace", "other")
    zapomni("delete", remember("two"))
    lines = dict(line.split(maxsplit=1) for line in zapomni("stats").stdout.splitlines())
    assert (lines["memories"], lines["deleted"], lines["chunks"]) == ("1", "1", "1")
    assert lines["workspace"] == "default (there are also: other)"
    assert lines["store"].startswith(f"sqlite at {home}/data/zapomni/memory.db, ")
    assert lines["embedder"] == "hashing (hashing-256, 256 dimensions)"
    assert document("stats")["embedder"] == {"name": "hashing", "model": "hashing-256", "dimension": 256}


def test_workspaces_are_apart(zapomni, document, remember):
    memory = remember("word", "--workspace", "mine")
    assert document("search", "word")["hits"] == []
    assert zapomni("get", memory).exit_code == 1
    assert zapomni("get", memory, "--workspace", "mine").exit_code == 0


def test_a_backup_is_a_store_of_its_own(zapomni, document, remember, tmp_path, monkeypatch):
    memory = remember("word")
    result = zapomni("backup", "copy.db")
    target = tmp_path / "work" / "copy.db"
    assert result.stdout.startswith(f"Wrote {target} (")
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{target}")
    assert document("get", memory)["text"] == "word"


def test_a_backup_takes_the_place_of_the_store_and_the_store_is_kept(zapomni, document, remember, monkeypatch):
    memory = remember("word")
    zapomni("backup", "copy.db")
    later = remember("later word")
    assert zapomni("restore-backup", "copy.db").exit_code == 2, "nobody can be asked"
    before = document("restore-backup", "copy.db", "--yes")["before"]
    assert document("get", memory)["text"] == "word"
    assert zapomni("get", later).exit_code == 1
    assert "The store is the backup copy.db now." in zapomni("restore-backup", "copy.db", "--yes").stdout
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{before}")
    assert document("get", later)["text"] == "later word"


def test_a_backup_overwrites_nothing_unless_told_to(zapomni, document, tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("mine")
    result = zapomni("backup", str(target))
    assert (result.exit_code, target.read_text()) == (2, "mine")
    assert "--force" in result.stderr
    assert document("backup", str(target), "--force") == {"target": str(target), "bytes": target.stat().st_size}


def test_reindexing_changes_the_embedder_and_says_what_it_does(zapomni, document, remember):
    for text in ("word one", "word two"):
        remember(text)
    result = zapomni("reindex", "--embedder", "another")
    assert result.exit_code == 0
    assert result.stdout == "Embedder: another (hashing-64, 64 dimensions); 2 chunks embedded now.\n"
    plan, others, setting = result.stderr.splitlines()
    assert plan == "2 chunks to embed; until that is done, the old vectors serve."
    assert others == "Servers that are running follow, unless their settings name another embedder."
    assert setting == "The settings still say embedder = 'hashing': change that to 'another'."


def test_the_present_embedder_has_nothing_to_do(zapomni, remember):
    remember("word")
    result = zapomni("reindex")
    assert result.stdout == "Embedder: hashing (hashing-256, 256 dimensions); 0 chunks embedded now.\n"
    assert result.stderr == "Every chunk has a vector by this embedder already.\n"


def test_what_another_version_analysed_is_analysed_again_once(zapomni, document, remember, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr("zapomni_core.adding.VERSION", 0)
        remember("word")
    assert zapomni("reindex").stdout.splitlines()[0] == "Analysed again: 1 chunk."
    assert document("reindex")["analysed"] == 0
    assert document("search", "word")["hits"][0]["why"] == ["word"]


def test_the_settings_choose_the_new_embedder(document, remember, monkeypatch):
    remember("word")
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "another")
    told = document("reindex")
    assert (told["before"]["name"], told["after"]["name"], told["chunks"]) == ("hashing", "another", 1)
    assert document("search", "word")["hits"][0]["text"] == "word"


def test_a_contradicting_embedder_is_told_with_the_command_that_helps(zapomni, remember, monkeypatch):
    remember("word")
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "another")
    result = zapomni("search", "word")
    assert result.exit_code == 1
    assert "run: zapomni reindex --embedder another" in result.stderr


@pytest.mark.parametrize("command", [["add", "word"], ["serve"]], ids=["add", "serve"])
def test_an_embedder_whose_identity_has_another_name_is_refused_before_anything_is_stored(
    start, embedders, home, monkeypatch, command
):
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "misnamed")
    add = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add_memory"}}
    add["params"]["arguments"] = {"text": "word"}
    code, output, errors = finish(start(*command, "--plugin", embedders), json.dumps(add) + "\n")
    assert (code, output) == (2, "")
    for told in ("'misnamed' of plugin 'embedders'", "'other'", "choose another embedder"):
        assert told in errors
    assert not list(home.rglob("*.db"))


def test_an_embedder_whose_identity_has_another_name_makes_no_new_vectors(zapomni, document, remember):
    remember("word")
    result = zapomni("reindex", "--embedder", "misnamed")
    assert result.exit_code == 2
    assert "'misnamed' of plugin 'embedders'" in result.stderr
    assert document("stats")["embedder"]["name"] == "hashing"
    remember("another word")


def test_a_missing_embedder_is_told_with_the_command_that_helps(zapomni, remember, run, monkeypatch):
    remember("word")
    monkeypatch.delenv("ZAPOMNI_EMBEDDER")
    for command in (["add", "another word"], ["reindex"]):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "made by embedder 'hashing', which no enabled plugin offers" in result.stderr
    found = run("search", "word")
    assert found.exit_code == 0
    assert "Only words were searched, not meaning: the store's vectors were made by embedder 'hashing'" in found.stdout
    assert run("reindex", "--embedder", "default").exit_code == 0
    assert "Only words" not in run("search", "word").stdout


SLOW = """
import os, signal
from zapomni_core.provider import Provider
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core import reindexing

reindexing.BATCH = 4

class Killed(HashingEmbedder):
    done = 0

    async def embed(self, texts, **options):
        if "ZAPOMNI_TEST_KILL" in os.environ and self.done >= 8:
            os.kill(os.getpid(), signal.SIGKILL)
        self.done += len(texts)
        return await super().embed(texts, **options)

@hookimpl
def zapomni_providers():
    return [Provider(kind="embedder", name="killed", factory=lambda _: Killed(64, name="killed"))]
"""


def test_reindexing_goes_on_after_kill_9(
    zapomni, document, start, embedders, plugin_file, remember, tmp_path, monkeypatch
):
    for number in range(20):
        remember(f"word {number}")
    command = ("--plugin", embedders, "--plugin", plugin_file("killed", SLOW), "reindex", "--embedder", "killed")
    monkeypatch.setenv("ZAPOMNI_TEST_KILL", "yes")
    assert finish(start(*command))[0] == -signal.SIGKILL
    assert document("stats")["embedder"]["name"] == "hashing"
    assert document("search", "word 7")["hits"][0]["text"] == "word 7"
    monkeypatch.delenv("ZAPOMNI_TEST_KILL")
    code, output, errors = finish(start(*command))
    assert code == 0, errors
    assert errors.startswith("12 chunks to embed")
    assert "12 chunks embedded now" in output


@every_command
def test_a_store_that_cannot_be_opened_is_a_sentence_and_no_traceback(zapomni, command, tmp_path, monkeypatch):
    damaged = tmp_path / "notes.txt"
    damaged.write_text("This is no database. " * 100)
    monkeypatch.setenv("ZAPOMNI_STORE", f"sqlite://{damaged}")
    result = zapomni(*command)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: The store {damaged} is damaged")


@every_command
def test_a_store_that_nobody_offers_is_a_refusal(zapomni, command, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_STORE", "nowhere://x")
    result = zapomni(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no plugin offers the store 'nowhere'" in result.stderr


def test_a_plugin_that_failed_is_named_where_something_is_missing(zapomni, installed, monkeypatch):
    installed("brings_a_store", "import nothing_of_that_name")
    monkeypatch.setenv("ZAPOMNI_STORE", "nowhere://x")
    assert "1 failed (brings_a_store), run: zapomni doctor" in zapomni("stats").stderr


def test_a_plugin_that_failed_is_named_where_the_embedder_is_missing(remember, run, installed, monkeypatch):
    remember("word")
    monkeypatch.delenv("ZAPOMNI_EMBEDDER")
    installed("brings_an_embedder", "import nothing_of_that_name")
    assert "1 failed (brings_an_embedder), run: zapomni doctor" in run("add", "another word").stderr


@every_command
def test_no_command_imports_the_sdk_or_rich(start, embedders, command):
    script = (
        f"{START.partition(';')[0]}\nimport sys\ntry:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    _, _, errors = finish(start("--plugin", embedders, *command, "--json", start=script))
    modules = set(errors.split())
    assert "zapomni_core.engine" in modules
    assert not {"mcp", "mcp_types", "rich"} & modules


def test_a_failing_embedder_is_a_sentence(run, plugin_file, monkeypatch):
    source = """
    from zapomni_core.errors import ProcessingError
    from zapomni_core.provider import Provider
    from zapomni_core.testing.embedder import HashingEmbedder

    class Failing(HashingEmbedder):
        async def embed(self, texts, **options):
            raise ProcessingError("The embedder is on strike")

    @hookimpl
    def zapomni_providers():
        return [Provider(kind="embedder", name="failing", factory=lambda _: Failing(name="failing"))]
    """
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "failing")
    result = run("add", "x", "--plugin", plugin_file("failing", source))
    assert (result.exit_code, result.stderr) == (1, "Error: The embedder is on strike\n")


FAILING = """
from zapomni_core.provider import Provider
from zapomni_core.testing.embedder import HashingEmbedder

class Failing(HashingEmbedder):
    async def embed(self, texts, **options):
        raise RuntimeError("no weights on this disk")

@hookimpl
def zapomni_providers():
    return [Provider(kind="embedder", name="failing", factory=lambda _: Failing(name="failing"))]
"""


@pytest.fixture
def failing(plugin_file, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "failing")
    monkeypatch.setenv("ZAPOMNI_PLUGINS__IMPORT_SECONDS", "60")
    return plugin_file("failing", FAILING)


def test_adding_with_a_failing_embedder_shows_the_cause(start, failing):
    code, output, errors = finish(start("add", "x", "--plugin", failing))
    assert (code, output) == (1, "")
    assert "'failing'" in errors
    assert "no weights on this disk" in errors
    assert "Traceback" not in errors
    assert "the log" not in errors


@pytest.mark.parametrize("command", [["add", "x"], ["call", "add_memory", '{"text": "x"}']], ids=["add", "call"])
def test_a_log_on_a_terminal_is_readable_with_its_traceback(start, failing, monkeypatch, command):
    monkeypatch.setenv("LOG_LEVEL", "INFO")
    shown = shown_on_a_terminal(start, *command, "--plugin", failing)
    assert "ERROR" in shown
    assert "Traceback (most recent call last):" in shown.splitlines()
    assert "RuntimeError: no weights on this disk" in shown.splitlines()
    assert [line for line in shown.splitlines() if line.startswith("{")] == []


def test_a_wrong_argument_on_a_terminal_is_logged_readably(start, embedders):
    shown = shown_on_a_terminal(start, "call", "add_memory", '{"text": ""}', "--plugin", embedders)
    (line,) = (line for line in shown.splitlines() if "validation_error" in line)
    assert "WARNING" in line
    assert "field=text" in line
    assert not line.startswith("{")


def test_where_no_terminal_is_the_log_is_json(start, embedders):
    _, _, errors = finish(start("call", "add_memory", '{"text": ""}', "--plugin", embedders))
    assert "validation_error" in [json.loads(line)["event"] for line in errors.splitlines()]


async def test_a_long_work_is_told_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0)
    with progress.Progress() as shown:
        await shown.show(1, 3, "a third of it")
        await shown.show(2, 3, "two thirds of it")
    assert capsys.readouterr().err == "two thirds of it\n"


def test_a_long_work_shows_a_bar_on_a_terminal(start, embedders, zapomni, remember, home):
    for number in range(3):
        remember(f"word {number}")
    master, terminal = pty.openpty()
    process = start("--plugin", embedders, "reindex", "--embedder", "another", stderr=terminal)
    os.close(terminal)
    output, _ = process.communicate(timeout=60)
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert (process.returncode, output.split(";")[0]) == (0, "Embedder: another (hashing-64, 64 dimensions)")
    assert "3 chunks to embed" in shown
    assert "embedded 3 of 3 chunks" in shown


@pytest.mark.parametrize(
    ("mode", "code", "told"),
    [
        ("fail", 1, "Error: Cannot reach LLM provider. Check network connection."),
        ("store_raw", 0, "It can be found, but was not read for entities. Cannot reach LLM provider."),
        ("queue_retry", 0, "zapomni jobs shows it."),
    ],
)
def test_adding_says_what_became_of_it_while_the_language_model_is_away(run, monkeypatch, mode, code, told):
    with LLMServer() as server:
        server.down()
        variables = {"EXTRACTOR": "llm", "LLM__PROVIDER": "ollama", "LLM__MODEL": "any", "LLM__BASE_URL": server.url}
        for name, value in {**variables, "ON_LLM_UNAVAILABLE": mode}.items():
            monkeypatch.setenv(f"ZAPOMNI_{name}", value)
        result = run("add", "Ada works at Acme.")
    assert result.exit_code == code
    assert told in result.output
    assert ("Nothing was stored." in result.output) == (mode == "fail")


def test_adding_says_how_much_was_read_in_it(run, monkeypatch):
    monkeypatch.setenv("ZAPOMNI_EXTRACTOR", "names")
    result = run("add", "Today Ada Lovelace works at Babbage Engines.")
    assert "2 entities and 1 relations were read in it." in result.output
