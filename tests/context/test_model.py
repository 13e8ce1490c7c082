"""References and media types: one way to be written, read strictly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.context.model import Reference, content_type_fault, reference, reference_fault
from steadhold.kit.paths import context_path_fault

HEX = "ab" * 32
PATHS = st.text("ab%@#24503/ü:", min_size=1, max_size=20).filter(lambda path: context_path_fault(path) is None)


@given(PATHS, st.integers(1, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_a_reference_survives_being_written(path, revision, digest):
    made = Reference(path, revision, digest)
    assert reference(str(made)) == made


@pytest.mark.parametrize("path", ["a%40b", "a@b#c%d", "%2540", "context:a@1", "a@1#sha256:" + HEX])
def test_what_is_written_is_read_again(path):
    made = Reference(path, 7, bytes.fromhex(HEX))
    assert reference(str(made)) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"state:a@1#sha256:{HEX}",
        f"context:@1#sha256:{HEX}",
        f"context:a@0#sha256:{HEX}",
        f"context:a@01#sha256:{HEX}",
        f"context:a@9223372036854775808#sha256:{HEX}",
        f"context:a#sha256:{HEX}",
        f"context:a@1#sha256:{HEX.upper()}",
        f"context:a@1#sha256:{HEX[:-2]}",
        f"context:a@1#sha512:{HEX}",
        f"context:a@1@1#sha256:{HEX}",
        f"context:a%2fb@1#sha256:{HEX}",
        f"context:a%@1#sha256:{HEX}",
        f"context:../a@1#sha256:{HEX}",
        f"context:a\\b@1#sha256:{HEX}",
        f"context:a\n@1#sha256:{HEX}",
        f"context:a@1#sha256:{HEX}\n",
    ],
)
def test_what_is_no_reference_says_why(text):
    assert reference(text) is None
    assert reference_fault(text).endswith(".")


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8", "application/vnd.a+json", 'a/b;c="d e"'])
def test_a_media_type_is_kept_as_it_is_sent(kind):
    assert content_type_fault(kind) is None


@pytest.mark.parametrize("kind", ["", "text", "/plain", "text/plain\n", "text/plain; ü", "a/" + "c" * 260, "a b/c"])
def test_what_is_no_media_type_is_refused(kind):
    assert content_type_fault(kind).endswith(".")
