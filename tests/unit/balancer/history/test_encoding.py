"""Bytes that are no sample are said to be none."""

from __future__ import annotations

import zlib

import pytest

from syncer.balancer.history.encoding import decoded, encoded
from syncer.balancer.history.sample import LoadSample
from syncer.errors import HistoryForeign

WHOLE = encoded(LoadSample(cluster="east", taken_ms=7))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        WHOLE[:-1],
        zlib.compress(b"{}"),
        zlib.compress(b"[]"),
        zlib.compress(b"null"),
        zlib.compress(zlib.decompress(WHOLE).replace(b'"brokers":[]', b'"brokers":[[1]]')),
        zlib.compress(zlib.decompress(WHOLE).replace(b'"manager":null', b'"manager":"other"')),
    ],
)
def test_what_is_no_sample_is_refused(data: bytes) -> None:
    with pytest.raises(HistoryForeign, match="a sample of the history cannot be read"):
        decoded(data)
