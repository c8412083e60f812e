"""A Markdown text is cut at its headings, and every chunk has the path of its headings."""

import pytest

from tests.complexity import is_linear
from zapomni_core.embedding import guess_tokens
from zapomni_core.text.chunks import chunk


def sections(text, language="markdown", size=200):
    parts = chunk(text, tokens=guess_tokens, language=language, chunk_tokens=size)
    return [(part.heading, text[part.fresh : part.end]) for part in parts]


def test_a_chunk_knows_the_path_of_its_headings():
    text = "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour\n"
    assert [heading for heading, _ in sections(text)] == ["A", "A > B", "A > B > C", "A > D"]


def test_text_before_the_first_heading_has_no_path():
    assert sections("Preface.\n\n# A\n\nbody\n") == [("", "Preface.\n\n"), ("A", "# A\n\nbody\n")]


def test_a_heading_with_nothing_under_it_goes_with_the_next_one():
    assert sections("# A\n\n## B\n\nbody\n") == [("A > B", "# A\n\n## B\n\nbody\n")]


def test_every_chunk_of_a_long_section_has_its_path_and_only_the_later_ones_overlap():
    text = "# A\n\nshort\n\n## B\n\n" + "A sentence of five words. " * 100
    parts = chunk(text, tokens=guess_tokens)
    assert {part.heading for part in parts[1:]} == {"A > B"}
    assert parts[1].start == parts[1].fresh
    assert all(part.start < part.fresh for part in parts[2:])


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Plain", "Plain"),
        ("   ### With closing marks ###", "With closing marks"),
        ("## [1.2.0](https://example.org) - *soon*", "1.2.0 - soon"),
        ("## The `run` command {#run}", "The run command"),
        ("# C#", "C#"),
        ("# Ends with carriage return\r", "Ends with carriage return"),
        ("Underlined\n==========", "Underlined"),
        ("Also underlined\n---", "Also underlined"),
    ],
)
def test_a_heading_is_read_without_its_decoration(line, title):
    assert sections(f"{line}\n\nbody\n")[0][0] == title


@pytest.mark.parametrize(
    "line",
    ["#hashtag", "####### seven", "    # indented code", "a line\nand another\n---", "| a |\n|---|", "- item\n---"],
)
def test_lookalikes_are_not_headings(line):
    assert {heading for heading, _ in sections(f"text\n\n{line}\n\nbody\n")} == {""}


def test_front_matter_is_not_a_heading():
    assert sections("---\ntitle: x\n---\n\n# A\n\nbody\n")[0][0] == ""


@pytest.mark.parametrize("fence", ["```", "~~~", "````sh", "   ```"])
def test_a_comment_in_fenced_code_is_not_a_heading(fence):
    closing = fence.removesuffix("sh")
    text = f"# A\n\n{fence}\n# comment\n```not a fence\n{closing}\n\n## B\n\nbody\n"
    assert [heading for heading, _ in sections(text)] == ["A", "A > B"]


def test_code_within_a_line_opens_no_fence():
    assert [heading for heading, _ in sections("```inline``` code\n\n# A\n\nbody\n")] == ["", "A"]


def test_a_fence_that_is_never_closed_reaches_to_the_end():
    assert [heading for heading, _ in sections("# A\n\n```\n# comment\n\n# comment\n")] == ["A"]


def test_fenced_code_stays_together_when_it_fits():
    code = "```python\n" + "".join(f"value_{number} = {number}\n\n" for number in range(6)) + "```\n"
    text = "# A\n\n" + "Some words before it. " * 6 + "\n\n" + code + "\n" + "Some words after it. " * 6
    texts = [body for _, body in sections(text, size=60)]
    assert sum(code in body for body in texts) == 1


def test_fenced_code_that_does_not_fit_is_cut_between_lines():
    code = "```\n" + "".join(f"value_{number} = {number}\n" for number in range(100)) + "```\n"
    bodies = [body for _, body in sections(code, size=60)]
    assert len(bodies) > 5
    assert all(body.startswith(("```", "value_")) for body in bodies)


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nbody\n",
        "## Only a second level\nbody",
        "Title\n=====\n\nbody",
        "intro\n\n# Title\n\n\nbody",
        "# Title",
    ],
)
def test_without_a_language_a_text_with_clear_headings_is_markdown(text):
    assert sections(text, None)[-1][0] != ""


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nimport os\n# another\nprint(os)\n",
        "#!/bin/sh\n# build it\nmake\n",
        "no heading at all",
        "```\n# comment\n\n## comment\n```\n",
        "Best regards,\n--\nAnna",
    ],
)
def test_without_a_language_a_text_without_clear_headings_is_text(text):
    assert {heading for heading, _ in sections(text, None)} == {""}


def test_an_unknown_language_is_ignored():
    text = "# A\n\nbody\n"
    assert sections(text, "Klingon") == sections(text, None) == [("A", text)]


def test_text_is_not_markdown_if_the_language_says_so():
    assert {heading for heading, _ in sections("# A\n\nbody\n", "text")} == {""}


def test_the_work_for_short_fences_within_a_long_one_grows_with_the_length_and_no_faster():
    def cut(text):
        chunk("`" * len(text) + "\n" + text, tokens=guess_tokens, language="markdown")

    assert is_linear(cut, "```\n", 100_000)


def test_the_work_for_sections_under_a_long_heading_grows_with_the_length_and_no_faster():
    def cut(text):
        chunk("# " + " " * len(text) + "A\n\n" + text, tokens=guess_tokens)

    assert is_linear(cut, "## B\nb\n", 30_000)
