"""Places of the host are cut out of what is said elsewhere; paths of a store, topics and names stay."""

from __future__ import annotations

import pytest

from syncer.inspection.host_places import before_trace, beyond


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("cannot read /var/lib/pulsar-syncer/state.db: denied", "cannot read …: denied"),
        ("[Errno 28] No space left on device: '/mnt/x y/z'", "[Errno 28] No space left on device: '… y/z'"),
        ("sqlite:////srv/syncer/state.db is locked", "sqlite:///… is locked"),
        ("file:///opt/spark/jars/a.jar, /usr/bin/java", "file://…, …"),
        ("is /tmp full?", "is … full?"),
        ("/admin/policies/home/var: /admin/policies/tmp", "/admin/policies/home/var: /admin/policies/tmp"),
        ("persistent://acme/var/log and public/etc/x", "persistent://acme/var/log and public/etc/x"),
        (
            "/managed-ledgers/a, /datacenter, /data-a, http://h:1/usr",
            "/managed-ledgers/a, /datacenter, /data-a, http://h:1/usr",
        ),
    ],
)
def test_places_are_cut_out(said: str, told: str) -> None:
    assert beyond(said) == told


def test_known_places_are_cut_out_wherever_they_lie() -> None:
    assert beyond("/pool/a/b/c and /pool/a", ("/pool/a/b", "/pool/a")) == "…/c and …"


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("it broke: Traceback (most recent call last): File …", "it broke: "),
        ('x/y.py", line 3, in f  File "/opt/a.py", line 7, in g  boom', 'x/y.py", line 3, in f  '),
    ],
)
def test_a_trace_ends_what_is_told_though_its_head_was_cut_off(said: str, before: str) -> None:
    assert before_trace(said) == (before, True)


def test_what_is_no_trace_is_told_whole() -> None:
    assert before_trace("File 'a' is damaged in line 3") == ("File 'a' is damaged in line 3", False)
