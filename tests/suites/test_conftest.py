from __future__ import annotations

import pytest

from tests.suites.conftest import suite_files, suite_root


def test_a_missing_suite_fails_in_ci(tmp_path):
    with pytest.raises(pytest.fail.Exception, match="STEADHOLD_SUITES"):
        suite_root({"CI": "true"}, tmp_path / "nowhere")


def test_a_missing_suite_skips_elsewhere(tmp_path):
    with pytest.raises(pytest.skip.Exception, match="STEADHOLD_SUITES"):
        suite_root({}, tmp_path / "nowhere")


def test_the_named_folder_wins(tmp_path):
    assert suite_root({"STEADHOLD_SUITES": str(tmp_path)}, tmp_path / "nowhere") == tmp_path


def test_a_suite_that_shrank_fails(tmp_path):
    (tmp_path / "a.json").write_text("[]", encoding="utf-8")
    assert suite_files(tmp_path, "*.json", 1) == [tmp_path / "a.json"]
    with pytest.raises(pytest.fail.Exception, match="1 of at least 2"):
        suite_files(tmp_path, "*.json", 2)
