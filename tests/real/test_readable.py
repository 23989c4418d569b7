"""What can be read of a stored value, against Pulsar's own classes: mutated documents, judged by both."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any, Final

import pytest

from deploy.lab.software import PULSAR_VERSION, java, java_compiler
from syncer.conflict.completing import readable_here
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.fields.readable import types_of
from syncer.conflict.fields.table import VERSIONS, parse_version
from syncer.conflict.fields.tolerance import first_value
from syncer.errors import ValueInvalid
from syncer.model import MetaPath, ResourceKind, Revision
from syncer.stores.contract import Entry
from tests.conftest import require
from tests.versions.jars import ask, class_jars
from tests.versions.odd_documents import drawn

SEED: Final = 4_043
AT_ONCE: Final = 10_000
"""Documents of each kind that one process of Java judges."""
DEFAULT: Final = parse_version(PULSAR_VERSION)


def told(version: str, documents: dict[ResourceKind, list[bytes]]) -> dict[str, list[str | None]]:
    """Ask the classes of a version; ``None``: they can read it."""
    texts = {kind.value: [base64.b64encode(each).decode() for each in values] for kind, values in documents.items()}
    return ask(version, "judge", texts)


def fault(brokers: Brokers, kind: ResourceKind, value: bytes) -> str | None:
    """Say why a stored value is held here; ``None``: it is not."""
    entry = Entry(path=MetaPath("/admin/policies/a"), value=value, revision=Revision("1"), modified_at_ms=None)
    try:
        readable_here(brokers, kind, entry, entry)
    except ValueInvalid as exc:
        return exc.message
    return None


def is_no_object(value: bytes) -> bool:
    """Whether a value is JSON, and no object: the product takes none, though some classes are made of a number."""
    try:
        return not isinstance(first_value(value), dict)
    except (ValueError, RecursionError):
        return value == b""


def compare(version: str, rounds: int) -> None:
    """Judge documents drawn for the newest version, whose fields an older one passes over."""
    brokers = Brokers(parse_version(version))
    for number in range(rounds):
        documents = {
            kind: list(drawn(Random(f"{SEED} {version} {number} {kind}"), types_of(kind, VERSIONS[-1]), AT_ONCE))
            for kind in ResourceKind
        }
        answers = told(version, documents)
        differing: list[Any] = []
        for kind, values in documents.items():
            pairs = [(fault(brokers, kind, value), why) for value, why in zip(values, answers[kind], strict=True)]
            differing += [
                (kind, value, ours, theirs)
                for value, (ours, theirs) in zip(values, pairs, strict=True)
                if (ours is None) != (theirs is None) and not is_no_object(value)
            ]
            refused = sum(theirs is not None for _, theirs in pairs)
            assert AT_ONCE / 10 < refused < AT_ONCE * 9 / 10, f"{kind}: one answer is nearly always right"
        assert differing[:5] == [], f"{len(differing)} of {AT_ONCE * len(documents)}"


def test_documents_are_judged_as_the_classes_of_a_broker_judge_them() -> None:
    require(java, java_compiler, lambda: class_jars(PULSAR_VERSION))
    compare(PULSAR_VERSION, 1)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_documents_are_judged_as_the_classes_of_each_version_judge_them(version: str) -> None:
    require(java, java_compiler, lambda: class_jars(version))
    compare(version, 10)


def test_whatever_the_classes_write_can_be_read() -> None:
    """A document with all fields that a version keeps, as that version writes it."""
    require(java, java_compiler, lambda: class_jars(PULSAR_VERSION))
    full = ask(PULSAR_VERSION, "fill")
    written = ask(PULSAR_VERSION, "keep", full)
    for kind in ResourceKind:
        for document in (full[kind], written[kind]):
            assert fault(Brokers(DEFAULT), kind, json.dumps(document).encode()) is None, kind
