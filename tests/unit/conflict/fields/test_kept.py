"""Kept fields of a document: what newer versions alone know, what completes it, and which absence is a removal."""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.fields.brokers import Brokers, oldest_tree
from syncer.conflict.fields.kept import (
    Completed,
    Document,
    KeptFields,
    Shape,
    Trees,
    any_known,
    completed,
    joined_parts,
    lacks,
    newer_part,
    unknown_places,
    without,
)
from syncer.conflict.fields.table import Tree, derived_always, derived_fields, parse_version
from syncer.model import ResourceKind
from syncer.state.sql.rows import kept_bytes, kept_in

OLD: Final[Tree] = {"name": None, "rates": {"*": {"msg": None}}, "box": {"a": None}, "bare": {}}
MIDDLE: Final[Tree] = {**OLD, "extra": None, "rates": {"*": {"msg": None, "byte": None}}, "scale": {"min": None}}
NEW: Final[Tree] = {
    **MIDDLE,
    "box": {"a": None, "b": None},
    "bare": {"new": None},
    "scale": {"min": None, "max": None, "steps": {"*": {"at": None}}},
    "flags": {"*": {"on": None}},
}
BY_VERSION: Final = (OLD, MIDDLE, NEW)


def trees(brokers: Tree = NEW) -> Trees:
    return Trees(oldest=OLD, newest=NEW, brokers=brokers)


def complete(
    document: Document,
    *,
    store: Document | None = None,
    gone: Document | None = None,
    owed: Document | None = None,
    brokers: Tree = NEW,
    believes: bool = True,
) -> Completed:
    kept = KeptFields(store or {}, gone or {}, owed or {})
    return completed(kept, document, trees(brokers), believes=believes)


def dropped_by(document: Any, tree: Tree | None) -> Any:
    """What a broker that knows a tree makes of a document; what it keeps whole it does not look into."""
    if tree is None or not isinstance(document, dict):
        return document
    return {
        name: dropped_by(node, tree.get(name, tree.get("*")))
        for name, node in document.items()
        if name in tree or "*" in tree
    }


# -- what newer versions alone know


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ({}, {}),
        ({"name": "n", "rates": {"c": {"msg": 1}}, "box": {"a": 1}}, {}),
        ({"extra": 1, "scale": {"min": 1}}, {"extra": 1, "scale": {"min": 1}}),
        ({"extra": None}, {"extra": None}),
        ({"foreign": {"x": [1]}}, {"foreign": {"x": [1]}}),
        ({"rates": {"c": {"msg": 1, "byte": 2}, "d": {"msg": 3}}}, {"rates": {"c": {"byte": 2}}}),
        ({"box": {"a": 1, "b": 2}}, {"box": {"b": 2}}),
        ({"bare": {"new": 1}}, {"bare": {"new": 1}}),
        ({"bare": {}}, {}),
        ({"name": {"any": {"thing": 1}}}, {}),
        ({"box": [{"b": 1}], "rates": {"c": None}}, {}),
    ],
)
def test_the_newer_part_is_what_the_oldest_version_does_not_know(document: Document, part: Document) -> None:
    assert newer_part(document, OLD) == part


@pytest.mark.parametrize(
    ("document", "covered"),
    [
        ({"name": 1, "rates": {"c": {"msg": 1}}, "box": {"a": 1}}, True),
        ({"box": {"b": 1}}, False),
        ({"bare": {"new": 1}}, False),
        ({"rates": {"c": {"byte": 1}}}, False),
        ({"foreign": 1}, False),
    ],
)
def test_a_shape_covers_a_document_whose_nested_fields_it_has(document: Document, covered: bool) -> None:
    shape = Shape.of(OLD)
    assert shape is not None
    assert shape.covers(document) == covered


# -- completing


def test_a_document_without_kept_fields_stays_the_very_one() -> None:
    document = {"name": "n", "extra": 1}
    found = complete(document)
    assert found.document is document
    assert (found.added, found.removes, found.stood) == (False, False, None)
    assert found.kept == KeptFields({"extra": 1})


def test_a_broker_that_does_not_know_a_field_has_not_removed_it() -> None:
    found = complete({"name": "m"}, store={"extra": 1}, brokers=OLD)
    assert found.document == {"name": "m", "extra": 1}
    assert (found.added, found.removes) == (True, False)
    assert found.kept == KeptFields({}, {"extra": 1})


def test_a_broker_that_knows_it_has() -> None:
    found = complete({"name": "m"}, store={"extra": 1}, brokers=MIDDLE)
    assert found.document == {"name": "m"}
    assert (found.added, found.removes) == (False, True)
    assert found.kept.empty


def test_an_absence_that_cannot_be_a_removal_keeps_it_whoever_knows_it() -> None:
    found = complete({}, store={"extra": 1}, believes=False)
    assert (found.document, found.removes) == ({"extra": 1}, False)
    assert found.kept == KeptFields({}, {"extra": 1})


def test_what_the_store_lacked_before_is_not_removed_by_who_knows_it() -> None:
    found = complete({}, gone={"extra": 1})
    assert (found.document, found.removes) == ({"extra": 1}, False)
    assert found.kept == KeptFields({}, {"extra": 1})


@pytest.mark.parametrize("value", [2, None, [], {}])
def test_what_is_present_counts(value: object) -> None:
    for part in ("store", "gone", "owed"):
        found = complete({"extra": value}, **{part: {"extra": 1}})  # type: ignore[arg-type]  # one of the parts
        assert found.document == {"extra": value}
        assert (found.added, found.removes) == (False, False)
        assert found.kept == KeptFields({"extra": value})


def test_an_array_is_a_value_as_a_whole() -> None:
    found = complete({"scale": {"min": [{"x": 1}]}}, store={"scale": {"min": [{"x": 1, "y": 2}, 3]}}, believes=False)
    assert found.document == {"scale": {"min": [{"x": 1}]}}
    assert not found.added


def test_a_null_stands_for_the_whole_object() -> None:
    found = complete({"scale": None}, store={"scale": {"min": 1}}, brokers=OLD)
    assert found.document == {"scale": None}
    assert found.kept == KeptFields({"scale": None})


def test_a_field_of_an_object_that_everybody_knows_is_kept_in_it() -> None:
    found = complete({"box": {"a": 9}}, store={"box": {"b": 2}}, brokers=MIDDLE)
    assert found.document == {"box": {"a": 9, "b": 2}}
    assert found.kept == KeptFields({}, {"box": {"b": 2}})


def test_a_field_of_an_object_that_everybody_knows_goes_with_the_object() -> None:
    found = complete({}, store={"box": {"b": 2}, "rates": {"c": {"byte": 1}}}, brokers=OLD, believes=False)
    assert found.document == {}
    assert (found.removes, found.kept.empty) == (False, True)


def test_a_member_of_a_map_keeps_its_own_fields() -> None:
    found = complete(
        {"rates": {"c": {"msg": 5}, "e": {"msg": 6}}},
        store={"rates": {"c": {"byte": 1}, "d": {"byte": 2}}},
        brokers=OLD,
    )
    assert found.document == {"rates": {"c": {"msg": 5, "byte": 1}, "e": {"msg": 6}}}
    assert found.kept.gone == {"rates": {"c": {"byte": 1}}}


def test_a_member_of_a_map_that_only_newer_versions_know_is_removed_by_these() -> None:
    store = {"flags": {"x": {"on": 1}, "y": {"on": 2}}}
    by_old = complete({"flags": {"x": {"on": 1}}}, store=store, brokers=MIDDLE)
    assert by_old.document == store
    by_new = complete({"flags": {"x": {"on": 1}}}, store=store, brokers=NEW)
    assert by_new.document == {"flags": {"x": {"on": 1}}}
    assert by_new.removes


def test_a_field_that_is_unknown_below_one_that_is_known_to_newer_versions_is_kept() -> None:
    store = {"scale": {"min": 1, "max": 2}}
    middle = complete({"scale": {"min": 3}}, store=store, brokers=MIDDLE)
    assert middle.document == {"scale": {"min": 3, "max": 2}}
    assert middle.kept == KeptFields({"scale": {"min": 3}}, {"scale": {"max": 2}})
    new = complete({"scale": {"min": 3}}, store=store, brokers=NEW)
    assert (new.document, new.removes) == ({"scale": {"min": 3}}, True)


def test_an_object_that_is_removed_by_who_knows_it_takes_with_it_what_it_does_not_know_there() -> None:
    """Else a fragment of it would rise again, of a field that nobody there has ever seen."""
    found = complete({"name": "n"}, store={"scale": {"min": 1}}, gone={"scale": {"max": 2}}, brokers=MIDDLE)
    assert (found.document, found.removes) == ({"name": "n"}, True)
    assert found.kept.empty


def test_an_object_of_which_a_part_was_gone_comes_back_whole() -> None:
    found = complete({}, store={"scale": {"min": 1}}, gone={"scale": {"max": 2}}, brokers=OLD)
    assert found.document == {"scale": {"min": 1, "max": 2}}
    assert found.kept == KeptFields({}, {"scale": {"min": 1, "max": 2}})


def test_a_field_that_no_version_of_the_table_knows_is_never_removed() -> None:
    found = complete({}, store={"foreign": {"x": 1}})
    assert (found.document, found.removes) == ({"foreign": {"x": 1}}, False)
    assert complete({"foreign": {}}, store={"foreign": {"x": 1}}).document == {"foreign": {}}, "as a whole"


def test_what_is_owed_completes_it_and_what_stood_is_told_apart() -> None:
    found = complete({"name": "n"}, gone={"extra": 1}, owed={"flags": {"x": {"on": 1}}, "extra": 7}, brokers=OLD)
    assert found.document == {"name": "n", "extra": 1, "flags": {"x": {"on": 1}}}
    assert found.stood == {"name": "n", "extra": 1}
    assert found.kept == KeptFields({}, {"extra": 1, "flags": {"x": {"on": 1}}})
    assert complete({"extra": 2}, owed={"extra": 1}).stood is None


# -- what is to be written back


@pytest.mark.parametrize(
    ("gone", "brokers", "known"),
    [
        ({}, NEW, False),
        ({"extra": 1}, OLD, False),
        ({"extra": 1}, MIDDLE, True),
        ({"foreign": 1}, NEW, False),
        ({"box": {"b": 2}}, MIDDLE, False),
        ({"box": {"b": 2}}, NEW, True),
        ({"rates": {"c": {"byte": 1}}}, OLD, False),
        ({"rates": {"c": {"byte": 1}}}, MIDDLE, True),
        ({"scale": {"min": 1, "max": 2}}, MIDDLE, True),
        ({"scale": {"max": 2}}, MIDDLE, False),
        ({"scale": {"max": 2}}, NEW, True),
        ({"scale": {}}, MIDDLE, True),
        ({"scale": None}, MIDDLE, True),
        ({"flags": {"x": {"on": 1}}}, NEW, True),
        ({"scale": {"steps": {"1": {"at": 1}}}}, NEW, True),
        ({"bare": {"new": 1}}, MIDDLE, False),
        ({"bare": {"new": 1}}, NEW, True),
    ],
)
def test_what_lacks_is_written_back_once_all_brokers_know_some_of_it(
    gone: Document, brokers: Tree, known: bool
) -> None:
    assert any_known(gone, OLD, brokers) is known


# -- parts


@pytest.mark.parametrize(
    ("document", "part", "lacking"),
    [
        ({}, {}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"a": None}, {"a": 2}, False),
        ({}, {"a": None}, True),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, True),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, False),
        ({"a": [1]}, {"a": {"c": 1}}, False),
    ],
)
def test_a_document_lacks_a_field_that_is_not_there_at_all(document: Document, part: Document, lacking: bool) -> None:
    assert lacks(document, part) is lacking
    assert bool(without(part, document)) is lacking


@pytest.mark.parametrize(
    ("part", "known", "places"),
    [
        ({}, OLD, []),
        ({"name": {"x": 1}, "box": {"a": 1}, "rates": {"c": {"msg": 1}}}, OLD, []),
        ({"extra": {"x": 1}, "foreign": 2}, OLD, ["extra", "foreign"]),
        ({"box": {"a": 1, "b": 2}, "bare": {"new": 1}}, OLD, ["box.b", "bare.new"]),
        ({"rates": {"c": {"msg": 1, "byte": 2}, "d": 3}}, OLD, ["rates.c.byte"]),
        ({"rates": {"c": {"byte": 2}}, "flags": {"f": {"on": 1}}}, MIDDLE, ["flags"]),
        ({"box": [1], "scale": {"max": 2}}, MIDDLE, ["scale.max"]),
    ],
)
def test_the_places_of_fields_that_are_not_known(part: Document, known: Tree, places: list[str]) -> None:
    assert list(unknown_places(part, known)) == places


def test_joined_parts_have_the_fields_of_both_and_the_values_of_the_left_one() -> None:
    left, right = {"a": 1, "b": {"x": 1}, "c": {"y": 1}}, {"a": 2, "b": {"x": 2, "z": 3}, "c": [], "d": 4}
    assert joined_parts(left, right) == {"a": 1, "b": {"x": 1, "z": 3}, "c": {"y": 1}, "d": 4}
    assert joined_parts(left, {}) == joined_parts({}, left) == left


# -- laws

scalars = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.lists(st.integers(0, 3), max_size=2))
names = st.sampled_from(["x", "y", "z"])
foreign = st.recursive(scalars, lambda inner: st.dictionaries(names, inner, max_size=2), max_leaves=4)


def objects(tree: Tree) -> st.SearchStrategy[Document]:
    """An object with fields of a tree, and with one that nobody knows."""
    if "*" in tree:
        return st.dictionaries(names, anything(tree["*"]), max_size=2)
    known = {name: anything(below) for name, below in tree.items()}
    unknown = st.dictionaries(st.just("foreign"), foreign, max_size=1)
    return st.builds(lambda one, other: {**one, **other}, st.fixed_dictionaries({}, optional=known), unknown)


def anything(tree: Tree | None) -> st.SearchStrategy[Any]:
    """What fits a tree, and now and then something else than an object."""
    return foreign if tree is None else st.one_of(objects(tree), objects(tree), objects(tree), scalars)


documents = objects(NEW)
parts = documents.map(lambda document: newer_part(document, OLD))
kept_fields = st.builds(KeptFields, parts, parts, parts)
versions = st.sampled_from(BY_VERSION)


def contains(whole: Any, part: Any) -> bool:
    """Whether every value of a part stands in a document, where it stood."""
    if not isinstance(part, dict):
        return bool(whole == part)
    return isinstance(whole, dict) and all(name in whole and contains(whole[name], part[name]) for name in part)


@given(kept=kept_fields, document=documents, brokers=versions, believes=st.booleans())
def test_nothing_that_is_present_is_ever_changed(
    kept: KeptFields, document: Document, brokers: Tree, believes: bool
) -> None:
    found = completed(kept, document, trees(brokers), believes=believes)
    assert contains(found.document, document)
    assert found.kept.store == newer_part(document, OLD)
    assert found.kept.owed == {}


@given(kept=kept_fields, document=documents, brokers=versions, believes=st.booleans())
def test_no_argument_is_changed(kept: KeptFields, document: Document, brokers: Tree, believes: bool) -> None:
    before = copy.deepcopy((kept, document))
    completed(kept, document, trees(brokers), believes=believes)
    assert (kept, document) == before


@given(kept=kept_fields, document=documents, brokers=versions, believes=st.booleans())
def test_completing_again_changes_nothing(kept: KeptFields, document: Document, brokers: Tree, believes: bool) -> None:
    once = completed(kept, document, trees(brokers), believes=believes)
    again = completed(once.kept, document, trees(brokers), believes=believes)
    assert (again.document, again.kept, again.added) == (once.document, once.kept, once.added)
    assert not again.removes
    whole = completed(once.kept, once.document, trees(brokers), believes=believes)
    assert whole.document == once.document
    assert not whole.added


def check_stands(part: Document, document: Document, whole: Document, oldest: Tree, newest: Tree) -> None:
    """Every field of a part stands in the whole, but with an object that everybody knows, or in one that is a whole."""
    for name, node in part.items():
        known_always = name in oldest or "*" in oldest
        if name in document:
            below = newest.get(name, newest.get("*"))
            if below and isinstance(node, dict) and isinstance(document[name], dict):
                deeper = (oldest.get(name, oldest.get("*")) or {}) if known_always else {}
                check_stands(node, document[name], whole[name], deeper, below)
        elif not known_always:
            assert contains(whole[name], node)


@given(kept=kept_fields, document=documents, brokers=versions)
def test_what_is_not_believed_loses_no_field(kept: KeptFields, document: Document, brokers: Tree) -> None:
    found = completed(kept, document, trees(brokers), believes=False)
    check_stands(kept.store, document, found.document, OLD, NEW)
    assert not found.removes
    assert found.added == bool(found.kept.gone)
    assert contains(found.document, found.kept.gone)


@given(document=documents, version=versions, believes=st.booleans())
def test_who_drops_what_he_does_not_know_has_dropped_nothing(document: Document, version: Tree, believes: bool) -> None:
    """The round trip: what any version leaves of a document is completed to that document again."""
    left = dropped_by(document, version)
    found = completed(KeptFields(newer_part(document, OLD)), left, trees(version), believes=believes)
    assert found.document == document
    assert not found.removes
    assert found.added == (left != document)


@given(document=documents, version=versions)
def test_the_places_that_a_version_does_not_know_are_all_that_it_drops(document: Document, version: Tree) -> None:
    left = copy.deepcopy(document)
    places = list(unknown_places(document, version))
    assert len(places) == len(set(places))
    for place in places:
        *above, name = place.split(".")
        holder = left
        for each in above:
            holder = holder[each]
        del holder[name]
    assert left == dropped_by(document, version)


@given(document=documents, version=versions, believes=st.booleans(), data=st.data())
def test_a_field_is_removed_exactly_if_it_was_there_and_all_brokers_know_it(
    document: Document, version: Tree, believes: bool, data: st.DataObject
) -> None:
    part = newer_part(document, OLD)
    tops = sorted(name for name in part if name not in OLD)
    if not tops:
        return
    name = data.draw(st.sampled_from(tops))
    was_there = data.draw(st.booleans())
    left = {each: node for each, node in document.items() if each != name}
    rest = {each: node for each, node in part.items() if each != name}
    kept = KeptFields(part) if was_there else KeptFields(rest, {name: part[name]})
    found = completed(kept, left, trees(version), believes=believes)
    removed = was_there and believes and name in version
    assert found.removes is removed
    assert found.document == (left if removed else document)
    assert (name in found.kept.gone) is not removed


@given(document=documents, tree=versions)
def test_a_shape_covers_what_has_no_newer_part(document: Document, tree: Tree) -> None:
    shape = Shape.of(tree)
    assert shape is not None
    assert shape.covers(document) is not bool(newer_part(document, tree))


@pytest.mark.parametrize("document", [{"*": {"x": 1}}, {"any": {"y": {"z": 1}}}, {"any": {"x": {}}}, {"any": 1}, {}])
def test_a_shape_covers_any_name_where_the_tree_has_it(document: Document) -> None:
    tree: Tree = {"*": {"x": None}}
    shape = Shape.of(tree)
    assert shape is not None
    assert shape.covers(document) is not bool(newer_part(document, tree))
    assert Shape.of({"*": None}) is None, "whatever is there belongs to it"
    assert Trees(oldest={"*": None}, newest={}, brokers={}).newer(document) == {}


@given(kept=kept_fields)
def test_what_is_kept_comes_back_from_a_database_as_it_was(kept: KeptFields) -> None:
    assert kept_in(bytes(kept_bytes(kept) or b"")) == kept
    assert kept_in(None) is None
    assert kept_bytes(None) is None


@given(left=parts, right=parts)
def test_what_is_joined_has_all_fields_of_both(left: Document, right: Document) -> None:
    both = joined_parts(left, right)
    assert contains(both, left)
    assert both.keys() == left.keys() | right.keys()
    assert joined_parts(both, right) == both
    assert not lacks(both, left)


@given(part=parts, present=documents)
def test_what_is_without_a_document_and_the_document_have_all_fields_of_a_part(
    part: Document, present: Document
) -> None:
    rest = without(part, present)
    assert contains(part, rest)
    assert not lacks(joined_parts(present, rest), part)
    assert without(rest, present) == rest


# -- by the table


@pytest.mark.parametrize("kind", ResourceKind)
def test_what_only_newer_versions_work_out_is_kept_and_the_rest_is_not(kind: ResourceKind) -> None:
    newer = derived_fields(kind) - derived_always(kind)
    assert newer_part(dict.fromkeys(derived_fields(kind), False), oldest_tree(kind)).keys() == newer
    assert newer == ({"subscriptionExpirationTimeInMinutesSet"} if kind is ResourceKind.TOPIC_POLICY else set())


def test_what_4_2_works_out_of_its_own_field_completes_a_policy_of_4_0() -> None:
    kind = ResourceKind.TOPIC_POLICY
    theirs = {"subscriptionExpirationTimeInMinutesSet": False, "messageTTLSet": False}
    part = newer_part(theirs, oldest_tree(kind))
    assert part == {"subscriptionExpirationTimeInMinutesSet": False}
    ours = {"messageTTLSet": False}
    trees_here = Brokers(parse_version("4.0.8")).trees(kind, ours)
    assert completed(KeptFields(gone=part), ours, trees_here, believes=False).document == theirs


def test_a_document_that_proves_an_older_writer_is_judged_by_what_that_one_knows() -> None:
    kind, five = ResourceKind.NAMESPACE, Brokers(parse_version("5.0.0-M1"))
    assert "scalableTopicAutoScalePolicy" not in five.trees(kind, {}).brokers
    written = {"is_allow_auto_update_schema_with_replicator": None}
    assert "scalableTopicAutoScalePolicy" in five.trees(kind, written).brokers
    assert Brokers().trees(kind, written).brokers == Brokers(parse_version("2.10.5")).trees(kind, written).brokers


@pytest.mark.parametrize("version", ["2.8.0", "2.10.5", "5.0.1", "5.1.0"])
def test_what_a_store_has_for_itself_is_never_kept(version: str) -> None:
    brokers = Brokers(parse_version(version))
    own = {"bundles": {"numBundles": 4}, "migrated": True, "deleted": True}
    assert brokers.newer(ResourceKind.NAMESPACE, own) == {}
    assert brokers.newer(ResourceKind.PARTITIONED_TOPIC, {"deleted": True}) == {}
    assert brokers.newer(ResourceKind.CLUSTER, {"serviceUrl": "http://c", "migrated": True}) == {}
    assert {"migrated", "deleted"} <= brokers.always(ResourceKind.NAMESPACE).keys()


# -- beyond the table


def of(oldest: str, newest: str) -> Brokers:
    first, last = parse_version(oldest), parse_version(newest)
    assert first is not None
    assert last is not None
    return Brokers.of(first, last)


@pytest.mark.parametrize(
    "edge", [of("2.8.0", "4.2.4"), of("2.8.0", "2.8.0"), of("4.2.4", "5.1.0"), of("6.0.0", "6.0.0")]
)
def test_beyond_the_table_nothing_that_lacks_was_removed(edge: Brokers) -> None:
    kind, document = ResourceKind.NAMESPACE, {"message_ttl_in_seconds": 1, "persistence": {"bookkeeperAckQuorum": 2}}
    assert edge.beyond
    assert edge.newer(kind, document) == document
    found = completed(KeptFields(document), {"persistence": {}}, edge.trees(kind, document), believes=True)
    assert (found.document, found.removes) == (document, False)
    assert not any_known(found.kept.gone, edge.always(kind), edge.known(kind)), "nothing is written back"


def test_what_was_kept_from_a_broker_beyond_the_table_is_written_back_once_all_are_in_it() -> None:
    kind, brokers = ResourceKind.NAMESPACE, of("4.0.8", "4.0.8")
    gone = {"message_ttl_in_seconds": 1, "persistence": {"bookkeeperAckQuorum": 2}, "clusterDispatchRate": {}}
    found = completed(KeptFields(gone=gone), {}, brokers.trees(kind, {}), believes=True)
    assert (found.document, found.removes) == (gone, False)
    for name, node in gone.items():
        assert any_known({name: node}, brokers.always(kind), brokers.known(kind)), name
    newer = {"persistence": {"managedLedgerStorageClassName": "s"}}
    found = completed(KeptFields(gone=newer), {}, brokers.trees(kind, {}), believes=True)
    assert found.document == {}, "the object was removed, and what was in it"


def test_the_newest_broker_counts_where_it_has_lost_a_field() -> None:
    kind = ResourceKind.CLUSTER
    assert of("4.0.8", "4.2.4").known(kind) == of("4.0.8", "4.0.8").known(kind)
    assert "migrated" in of("3.0.7", "3.0.7").known(kind)
    assert "migrated" not in of("3.0.7", "3.3.6").known(kind)
