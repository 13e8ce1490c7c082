"""Every law names a test that exists and a fault that can be planted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.laws import Law, faults, read

LAWS = read()
KNOWN = Law("a", "b", "c", "tests/test_laws.py::test_a_law_can_be_tested", "tools/laws.py", "class Law:", "class Raw:")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_a_law_can_be_tested(law):
    assert faults(law) == []


def test_an_entry_that_is_right_has_no_faults():
    assert faults(KNOWN) == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"test": "tests/test_laws.py::test_of_nothing"}, id="no such test"),
        pytest.param({"test": "tests/test_laws.py"}, id="a file is no test"),
        pytest.param({"test": "tests/test_nothing.py::test_a"}, id="no such test file"),
        pytest.param({"file": "tools/nothing.py"}, id="no such place"),
        pytest.param({"find": "no such text in this file"}, id="the text is not there"),
        pytest.param({"find": "import"}, id="the text is there more than once"),
        pytest.param({"replace": "class Law:"}, id="the fault changes nothing"),
    ],
)
def test_an_entry_that_is_wrong_is_found(wrong):
    assert len(faults(replace(KNOWN, **wrong))) == 1


@pytest.mark.parametrize("entry", ['id = "a"', 'id = "a"\nsource = "b"\nsays = "c"\ntest = "d"\nfault = {}\nmore = 1'])
def test_an_incomplete_entry_is_refused(entry, tmp_path):
    register = tmp_path / "laws.toml"
    register.write_text(f"[[law]]\n{entry}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must have exactly"):
        read(register)
