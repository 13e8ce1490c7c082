"""envelopes: sealed by the customer before upload, opened by the customer after; the server never imports this."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("joserfc") is None:
    raise ImportError("Envelopes need a library for JWE: pip install 'steadhold[crypto]'", name="joserfc")

from steadhold.envelopes.keyring import Key, Keyring, KeyringFault
from steadhold.envelopes.padding import PADDED, padded, unpadded
from steadhold.envelopes.profile import EnvelopeRefused, open_envelope, seal
from steadhold.envelopes.rollback import HighWater, RolledBack
from steadhold.kit.sealed import Bound

__all__ = [
    "PADDED",
    "Bound",
    "EnvelopeRefused",
    "HighWater",
    "Key",
    "Keyring",
    "KeyringFault",
    "RolledBack",
    "open_envelope",
    "padded",
    "seal",
    "unpadded",
]
