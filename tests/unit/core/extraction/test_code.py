"""What code defines and imports: in a fence, or where the whole text is code."""

import pytest

from zapomni_core.extraction.reading import read

FENCE = "Look at this:\n\n```{language}\n{code}\n```\n"


def fenced(code, language="python"):
    return read(FENCE.format(language=language, code=code))


def stated(found):
    return [(one.subject, one.type, one.object) for one in found.relations]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def run(self):\n    pass", ["run"]),
        ("async def run(): ...", ["run"]),
        ("class Engine:\n    x = 1", ["Engine"]),
        ("import os.path as p", ["os.path"]),
        ("func (s *Store) Open(path string) error {", ["Open"]),
        ("pub fn open<T>(x: T) {}", ["open"]),
        ("pub(crate) struct Store {", ["Store"]),
        ("export default function main() {}", ["main"]),
        ("export interface Shape {", ["Shape"]),
        ("use std::collections::HashMap;", ["std::collections::HashMap"]),
        ("using System.Text;", ["System.Text"]),
        ("# see https://example.org/x", ["https://example.org/x"]),
        ("x = Foo(Bar)  # Nothing Here", []),
        ("return classify(x)", []),
    ],
)
def test_definitions_imports_and_addresses_are_found(code, names):
    assert [entity.name for entity in fenced(code).entities] == names


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("class A(B, c.D, metaclass=M):\n    pass", [("A", "extends", "B"), ("A", "extends", "c.D")]),
        ("class A(object): pass", []),
        (
            "class Car extends Vehicle implements Wheeled, Sold {",
            [
                ("Car", "extends", "Vehicle"),
                ("Car", "implements", "Wheeled"),
                ("Car", "implements", "Sold"),
            ],
        ),
        ("public class Car : Vehicle {", [("Car", "extends", "Vehicle")]),
        ("class Car : public Vehicle {", [("Car", "extends", "Vehicle")]),
        ("class Car: pass", []),
        ("impl Drop for Store {", [("Store", "implements", "Drop")]),
        ("from a.b import c, d as e", [("c", "imported_from", "a.b"), ("d", "imported_from", "a.b")]),
        ("from .near import thing", [("thing", "imported_from", ".near")]),
    ],
)
def test_what_a_line_of_code_relates_is_a_pattern(code, wanted):
    found = fenced(code)
    assert stated(found) == wanted
    assert {one.basis for one in found.relations} <= {"pattern"}


def test_a_text_that_is_all_code_needs_no_fence():
    found = read("import os\n\nclass Engine(Motor):\n    def run(self):\n        return True\n")
    assert [entity.name for entity in found.entities] == ["os", "Engine", "Motor", "run"]


def test_a_word_of_code_in_prose_makes_no_code_of_it():
    assert [entity.name for entity in read("import duties\nrose again, says Anna Lee.\nSo they do.").entities] == [
        "Anna Lee"
    ]


def test_prose_around_a_fence_is_read_as_prose():
    text = "Anna Lee wrote it.\n\n```python\ndef run(): ...\n```\n\nBob Ray read it."
    assert [entity.name for entity in read(text).entities] == ["Anna Lee", "run", "Bob Ray"]


def test_the_quote_of_code_is_what_relates():
    text = FENCE.format(language="python", code="class A(B):\n    pass")
    (relation,) = read(text).relations
    assert text[relation.start : relation.end] == "A(B"
