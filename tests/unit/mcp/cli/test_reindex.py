"""`zapomni reindex`."""

import signal

from .conftest import finish


def test_reindexing_changes_the_embedder_and_reports_the_plan(zapomni, document, remember):
    for text in ("word one", "word two"):
        remember(text)
    result = zapomni("reindex", "--embedder", "another")
    assert result.exit_code == 0
    assert result.stdout == "Embedder: another (hashing-64, 64 dimensions); 2 chunks embedded.\n"
    plan, others, setting = result.stderr.splitlines()
    assert plan.startswith("2 chunks to embed, about 4 tokens and 1 second;")
    assert "servers" in others
    assert "'hashing'" in setting
    assert "'another'" in setting


def test_reindexing_with_the_same_embedder_embeds_nothing(zapomni, remember):
    remember("word")
    result = zapomni("reindex")
    assert result.stdout == "Embedder: hashing (hashing-256, 256 dimensions); 0 chunks embedded.\n"


def test_chunks_of_another_analyser_version_are_analysed_again_once(zapomni, document, remember, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr("zapomni_core.memory.add.VERSION", 0)
        remember("word")
    assert zapomni("reindex").stdout.splitlines()[0] == "Analysed again: 1 chunk."
    assert document("reindex")["analysed"] == 0
    assert document("search", "word")["hits"][0]["why"] == ["word"]


def test_the_settings_choose_the_new_embedder(document, remember, monkeypatch):
    remember("word")
    monkeypatch.setenv("ZAPOMNI_EMBEDDER", "another")
    report = document("reindex")
    assert (report["before"]["name"], report["after"]["name"], report["chunks"]) == ("hashing", "another", 1)
    assert document("search", "word")["hits"][0]["text"] == "word"


def test_an_embedder_whose_identity_has_another_name_makes_no_new_vectors(zapomni, document, remember):
    remember("word")
    result = zapomni("reindex", "--embedder", "misnamed")
    assert result.exit_code == 2
    assert "'misnamed' of plugin 'embedders'" in result.stderr
    assert document("stats")["embedder"]["name"] == "hashing"
    remember("another word")


SLOW = """
import os, signal
from zapomni_core.providers import Provider
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.memory import reindex

reindex.BATCH = 4

class Killed(HashingEmbedder):
    done = 0

    async def embed(self, texts, **options):
        if "ZAPOMNI_TEST_KILL" in os.environ and self.done >= 24:  # the sample, and two steps
            os.kill(os.getpid(), signal.SIGKILL)
        self.done += len(texts)
        return await super().embed(texts, **options)

@hookimpl
def zapomni_providers():
    return [Provider(kind="embedder", name="killed", factory=lambda _: Killed(64, name="killed"))]
"""


def test_reindexing_continues_after_kill_9(
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
    assert "12 chunks embedded" in output
