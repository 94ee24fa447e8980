"""Every public name stands on an API page, with its docstring and an example that uses it."""

import re
from pathlib import Path

import pytest

import onegrad

PAGES = Path(__file__).parents[2] / "docs" / "api"
TEXT = "\n".join(page.read_text("utf-8") for page in sorted(PAGES.glob("*.md")))
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |^# |\Z)", TEXT, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", onegrad.__all__)
def test_a_public_name_has_a_section_with_its_docstring_and_an_example(name):
    assert name in SECTIONS, f"{name} is public: add it to a page of docs/api"
    assert re.search(rf"^\.\. auto\w+:: onegrad\.{name}\b", SECTIONS[name], re.MULTILINE)
    examples = re.findall(r"^```python\n(.*?)^```$", SECTIONS[name], re.MULTILINE | re.DOTALL)
    assert any(re.search(rf"\b{name}\b", example) for example in examples)


def test_no_section_is_left_of_a_name_that_is_gone():
    assert set(SECTIONS) == set(onegrad.__all__)
