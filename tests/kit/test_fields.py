from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.fields import (
    AnyTag,
    BadTag,
    ByteRange,
    ExactTag,
    FenceRef,
    FieldFault,
    ForeignTag,
    TagList,
    Unsatisfiable,
    WeakTag,
    byte_range,
    condition,
    digests,
    digests_match,
    etag,
    fences,
    still_has,
    subject_fault,
    write_digest,
    write_fences,
)

# --- conditions -------------------------------------------------------------------------------

CONDITIONS = [
    (None, None),
    ('"42"', ExactTag(42)),
    (' "42"\t', ExactTag(42)),
    ("*", AnyTag()),
    (" * ", AnyTag()),
    ('W/"42"', WeakTag("42")),
    ('"abc"', ForeignTag("abc")),
    ('"a,b"', ForeignTag("a,b")),
    ('""', ForeignTag("")),
    ('"0"', ForeignTag("0")),
    ('"042"', ForeignTag("042")),
    ('"-1"', ForeignTag("-1")),
    ('"9999999999999999999"', ForeignTag("9999999999999999999")),
    ('"42-gzip"', ForeignTag("42-gzip")),
    ('"1", W/"2" ,"x"', TagList((ExactTag(1), WeakTag("2"), ForeignTag("x")))),
    ('"1","1"', TagList((ExactTag(1), ExactTag(1)))),
]
MALFORMED = [
    "",
    "42",
    "'42'",
    '"42',
    '42"',
    'w/"42"',
    'W/ "42"',
    '"4 2"',
    '*, "1"',
    '"1", *',
    '"1",',
    ',"1"',
    '"1" "2"',
]


@pytest.mark.parametrize("field, expected", CONDITIONS)
def test_a_condition_says_one_thing(field, expected):
    assert condition(field) == expected


@pytest.mark.parametrize("field", MALFORMED)
def test_what_is_no_entity_tag_is_told_so(field):
    read = condition(field)
    assert isinstance(read, BadTag)
    assert read.why.endswith(".")


@given(st.integers(1, 10**18 - 1))
def test_a_revision_survives_its_tag(revision):
    assert condition(etag(revision)) == ExactTag(revision)


@pytest.mark.parametrize(
    "field, fresh",
    [
        ('"42"', True),
        ('W/"42"', True),
        ("*", True),
        ('"41", W/"42"', True),
        ('"41"', False),
        ('"41", "x"', False),
        ('"x"', False),
        ("42", False),
        (None, False),
    ],
)
def test_a_reader_compares_weakly(field, fresh):
    assert still_has(condition(field), 42) is fresh


# --- fences -----------------------------------------------------------------------------------


def test_no_fence_field_names_no_grant():
    assert fences(None) == ()


def test_fences_are_read_in_their_order():
    field = '"lock:deploy";fence=3,\t"job:0198c1e2";fence=999999999999999 , "consumer:orders/billing";fence=1'
    read = fences(field)
    assert read == (
        FenceRef("lock:deploy", 3),
        FenceRef("job:0198c1e2", 999_999_999_999_999),
        FenceRef("consumer:orders/billing", 1),
    )
    assert [(ref.kind, ref.name) for ref in read][2] == ("consumer", "orders/billing")


def test_a_name_may_hold_a_colon():
    assert fences('"lock:a:b";fence=1') == (FenceRef("lock:a:b", 1),)


MISREAD = [
    "",
    " ",
    '"lock:a"',
    '"lock:a";fence',
    '"lock:a";fence=0',
    '"lock:a";fence=-1',
    '"lock:a";fence=1.0',
    '"lock:a";fence="1"',
    '"lock:a";fence=1000000000000000',
    '"lock:a";fence=?1',
    '"lock:a";fence=1;ttl=3',
    '"lock:a";Fence=1',
    '"lock:a";fence=1,',
    "lock:a;fence=1",
    ":bG9jazph:;fence=1",
    '("lock:a";fence=1)',
    '"lock:";fence=1',
    '"lock:a/b";fence=1',
    '"lock:a b";fence=1',
    '"deploy";fence=1',
    '"effect:a";fence=1',
    '"job:";fence=1',
    '"consumer:orders";fence=1',
    '"consumer:orders/";fence=1',
    '"consumer:a/b/c";fence=1',
    '"lock:a";fence=1, "lock:a";fence=2',
    ", ".join(f'"lock:l{n}";fence=1' for n in range(9)),
]


@pytest.mark.parametrize("field", MISREAD, ids=range(len(MISREAD)))
def test_a_fence_field_that_is_not_exact_is_a_fault(field):
    read = fences(field)
    assert isinstance(read, FieldFault)
    assert read.why.endswith(".")


SUBJECTS = st.from_regex(r"(?:lock|job):[A-Za-z0-9._~:@-]{1,20}|consumer:[a-z0-9]{1,9}/[a-z0-9]{1,9}", fullmatch=True)
REFS = st.lists(
    st.builds(FenceRef, SUBJECTS, st.integers(1, 999_999_999_999_999)),
    min_size=1,
    max_size=8,
    unique_by=lambda r: r.subject,
)


@given(REFS)
def test_fences_survive_the_wire(refs):
    assert fences(write_fences(refs)) == tuple(refs)


@pytest.mark.parametrize("subject", ["lock:deploy", "job:1", "consumer:orders/billing"])
def test_a_grant_has_a_kind_and_a_name(subject):
    assert subject_fault(subject) is None


# --- digests ----------------------------------------------------------------------------------

BODY = b'{"hello": "world"}\n'
SHA256 = hashlib.sha256(BODY).digest()


def test_the_example_of_rfc_9530_is_read():
    read = digests("sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:")
    assert read == {"sha-256": SHA256}
    assert digests_match(read, BODY)
    assert not digests_match(read, BODY + b" ")


def test_each_digest_that_is_sent_must_match():
    sha512 = hashlib.sha512(BODY).digest()
    assert digests_match({"sha-256": SHA256, "sha-512": sha512}, BODY)
    assert not digests_match({"sha-256": SHA256, "sha-512": bytes(64)}, BODY)


def test_a_digest_survives_the_wire():
    assert digests(write_digest(SHA256)) == {"sha-256": SHA256}


@pytest.mark.parametrize("field", [None, "", "md5=:AAAA:", "unixsum=5, crc32c=tok"])
def test_other_algorithms_are_left_out(field):
    assert digests(field) == {}


@pytest.mark.parametrize(
    "field", ["sha-256=:AAAA:", "sha-256", 'sha-256="x"', "sha-256=(:AAAA:)", "sha-256=:A", "a=1,", "="]
)
def test_a_digest_that_cannot_be_read_is_a_fault(field):
    assert isinstance(digests(field), FieldFault)


# --- ranges -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field, length, expected",
    [
        ("bytes=0-0", 10, ByteRange(0, 0)),
        ("bytes=2-5", 10, ByteRange(2, 5)),
        ("bytes=2-", 10, ByteRange(2, 9)),
        ("bytes=2-99", 10, ByteRange(2, 9)),
        ("bytes=-3", 10, ByteRange(7, 9)),
        ("bytes=-99", 10, ByteRange(0, 9)),
        ("bytes=9-9", 10, ByteRange(9, 9)),
        ("bytes=10-", 10, Unsatisfiable()),
        ("bytes=10-12", 10, Unsatisfiable()),
        ("bytes=-0", 10, Unsatisfiable()),
        ("bytes=0-", 0, Unsatisfiable()),
        ("bytes=-1", 0, Unsatisfiable()),
        ("bytes=5-2", 10, None),
        ("bytes=0-1,3-4", 10, None),
        ("bytes=-", 10, None),
        ("bytes=a-b", 10, None),
        ("bytes=\u0661-\u0662", 10, None),
        ("items=0-1", 10, None),
        ("", 10, None),
        (None, 10, None),
    ],
)
def test_a_range_is_one_run_of_bytes_or_the_whole(field, length, expected):
    assert byte_range(field, length) == expected
