"""Output to terminals and pipes."""

import json
import os
import pty

from zapomni_mcp.cli import output
from zapomni_mcp.cli.output import Output

from .conftest import finish


def read_all(terminal):
    text = b""
    try:
        while chunk := os.read(terminal, 65536):
            text += chunk
    except OSError:  # Linux reports a closed other end as an error
        pass
    return text.decode()


def on_a_terminal(start, *args, **environment):
    master, terminal = pty.openpty()
    process = start(*args, stdout=terminal, env={**os.environ, "TERM": "xterm", **environment})
    os.close(terminal)
    text = read_all(master)
    os.close(master)
    finish(process)
    return text


def test_a_terminal_gets_colour(start):
    assert "\x1b[32mloaded" in on_a_terminal(start, "plugins")


def test_no_color_is_honoured(start):
    assert "\x1b[3" not in on_a_terminal(start, "plugins", NO_COLOR="1")


def test_a_pipe_gets_plain_text(run):
    for command in ("plugins", "tools", "doctor", "config"):
        output = run(command).stdout
        assert output.isascii() or "…" in output
        assert "\x1b" not in output


def test_paragraphs_are_wrapped_on_a_very_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "5")
    Output().marked("fail", "something is wrong here")
    assert capsys.readouterr().out == "fail  something is wrong\n      here\n"


def test_control_characters_are_removed_or_escaped(capsys):
    out = Output()
    out.text("a\x1b[2Jb\x9bc")
    out.marked("ok", "d\x1b[2Je\nf")
    out.json({"g": "h\x7fi"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["a[2Jbc", "ok    d[2Je f"]
    assert json.loads("".join(lines[2:])) == {"g": "h\x7fi"}
    assert "\x7f" not in "".join(lines)


async def test_progress_is_printed_periodically_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(output, "PROGRESS_SECONDS", 0)
    with output.Progress() as shown:
        await shown.show(1, 3, "a third of it")
        await shown.show(2, 3, "two thirds of it")
    assert capsys.readouterr().err == "two thirds of it\n"


def test_reindexing_shows_a_progress_bar_on_a_terminal(start, embedders, zapomni, remember, home):
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
