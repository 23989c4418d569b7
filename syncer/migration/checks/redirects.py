"""Checks of where clients are sent: marks that are there, addresses, names, and what a cluster's mark takes along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from syncer.client_versions import parse, release_of
from syncer.migration.checks.finding import Check, CheckFinding, CheckStage, ClusterPair, FindingSeverity, the_first
from syncer.migration.clients import CHECKS_ADDRESS_SINCE, needs_every_address
from syncer.migration.evidence import CLAIM, ClusterUrls
from syncer.migration.roll_call import seen_on


def _marks(picture: ClusterPair) -> Iterator[CheckFinding]:
    blue, green = picture.blue, picture.green
    if blue.mark is not None and blue.mark.target != green.urls and blue.mark.target != ClusterUrls():
        yield CheckFinding(
            severity=FindingSeverity.BLOCK,
            subject=blue.name,
            evidence=f"blue's migration URL is {blue.mark.target.pulsar or blue.mark.target.http!r} already",
            remedy="end the other migration first, or override: this one replaces the URL",
        )
    if blue.mark is not None and blue.mark.migrated:
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=blue.name,
            evidence="blue as a whole is marked as migrated: what is not loaded is refused from now on",
            remedy="take that mark off, or finish that migration",
        )
    for namespace in picture.namespaces():
        if namespace.marked:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence="the namespace is marked as migrated already",
                remedy="take the mark off, or leave the namespace out",
            )
    mark = green.mark
    if mark is None:
        return
    back = {url for url in blue.urls.named.values() if url}
    if back & set(mark.target.named.values()):
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=green.name,
            evidence=f"green's migration URL is blue's ({mark.target.pulsar or mark.target.http})",
            remedy="delete green's migration URL: clients would be sent to and fro",
        )
    elif mark.migrated:
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=green.name,
            evidence=f"green is itself marked as migrated, to {mark.target.pulsar or mark.target.http!r}",
            remedy="take that mark off, or migrate to that cluster instead",
        )


def _claims(picture: ClusterPair) -> Iterator[CheckFinding]:
    for cluster in (picture.blue, picture.green):
        for name in picture.scope.namespaces:
            namespace = cluster.namespaces.get(name)
            properties = namespace.policies.get("properties") if namespace is not None else None
            owner = properties.get(CLAIM) if isinstance(properties, Mapping) else None
            if owner and owner != picture.claim:
                yield CheckFinding(
                    severity=FindingSeverity.NEVER,
                    subject=name,
                    evidence=f"at {cluster.name} it belongs to the migration {owner!r}",
                    remedy="wait until that one has ended; if nobody carries it on any more, see that none of its "
                    f"marks stands, and take the property {CLAIM!r} away",
                )


def _same_cluster(picture: ClusterPair) -> Iterator[CheckFinding]:
    for name, blue in picture.blue.urls.named.items():
        if blue and blue == picture.green.urls.named[name]:
            yield CheckFinding(
                severity=FindingSeverity.NEVER,
                subject=picture.green.name,
                evidence=f"blue and green have the same address, {blue}",
                remedy="give green's own addresses in its table of the configuration",
            )
    both = {broker.address for broker in picture.blue.brokers} & {broker.address for broker in picture.green.brokers}
    if both:
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=", ".join(sorted(both)),
            evidence="blue and green list the same brokers: they are one cluster",
            remedy="give green's own addresses in its table of the configuration",
        )


def _addresses(picture: ClusterPair) -> Iterator[CheckFinding]:
    missing = picture.green.urls.missing
    if {"serviceUrl", "serviceUrlTls"} <= set(missing) or {"brokerServiceUrl", "brokerServiceUrlTls"} <= set(missing):
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=picture.green.name,
            evidence=f"no address for {' and '.join(missing)}",
            remedy="fill green's addresses: clients that are sent to a blank one try for ever",
        )
        return
    if not missing:
        return
    old = sorted(
        {
            f"{client.name} at {client.address} ({client.version or 'no version'})"
            for _, client in seen_on(picture.topics())
            if needs_every_address(parse(client.version))
        }
    )
    old += [
        f"broker {broker.address} ({broker.version})"
        for broker in picture.blue.brokers
        if (release_of(broker.version or "") or (0, 0, 0)) < CHECKS_ADDRESS_SINCE
    ]
    if old:
        yield CheckFinding(
            severity=FindingSeverity.BLOCK,
            subject=picture.green.name,
            evidence=f"not given: {', '.join(missing)}; and these take a redirect with all four only: {the_first(old)}",
            remedy="fill all four addresses, or update those clients to 4.0.1 or later",
        )


def _answering(picture: ClusterPair) -> Iterator[CheckFinding]:
    for address, why in picture.dead_addresses.items():
        yield CheckFinding(
            severity=FindingSeverity.BLOCK,
            subject=address,
            evidence=f"nobody takes a connection: {why}",
            remedy="mend the address in green's table, or the way to it; override it where only clients have a way",
        )


def _names(picture: ClusterPair) -> Iterator[CheckFinding]:
    blue, green = picture.blue, picture.green
    for namespace in picture.namespaces():
        clusters = namespace.policies.get("replication_clusters")
        replicated = sorted(set(clusters) - {blue.name}) if isinstance(clusters, list) else []
        if replicated and blue.name == green.name:
            yield CheckFinding(
                severity=FindingSeverity.NEVER,
                subject=namespace.name,
                evidence=f"it is replicated with {', '.join(replicated)}, and both clusters are named {blue.name!r}: "
                "those clusters cannot tell them apart",
                remedy="give green a name of its own, or leave the namespace out",
            )


def _keyed_by_cluster(picture: ClusterPair) -> Iterator[CheckFinding]:
    blue, green = picture.blue.name, picture.green.name
    if blue == green:
        return
    for namespace in picture.namespaces():
        for policy, value in sorted(namespace.policies.items()):
            if isinstance(value, dict) and blue in value and green not in value:
                yield CheckFinding(
                    severity=FindingSeverity.WARN,
                    subject=namespace.name,
                    evidence=f"{policy} is set for the cluster {blue!r}, and not for {green!r}",
                    remedy=f"it is prepared for {green!r} with the same value; look whether that is what is meant",
                )


def _taken_along(picture: ClusterPair) -> Iterator[CheckFinding]:
    """The cluster's own mark moves all topics but a few of the system."""
    if not picture.scope.whole_cluster:
        return
    blue = picture.blue
    living = {
        "a functions worker": blue.functions_worker,
        "a transaction coordinator": blue.transactions,
    }
    for what, there in living.items():
        if there is not False:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=blue.name,
                evidence=f"{what} lives on blue" if there else f"it cannot be told whether {what} lives on blue",
                remedy="move it first, or leave out the mark of the whole cluster",
            )
    for name, topics in sorted(picture.left_out.items()):
        if name in picture.own_namespaces or name in picture.first_form:
            continue  # each has a check of its own
        yield CheckFinding(
            severity=FindingSeverity.WARN,
            subject=name,
            evidence=f"it has {topics} topics and is not moved: the cluster's own mark is not set while that is so",
            remedy="add it to a wave, move it by a plan of its own before, or delete what nobody uses",
        )


def _first_form(picture: ClusterPair) -> Iterator[CheckFinding]:
    """Namespaces of the first form belong to one cluster by their name: green could not serve them."""
    if not picture.first_form:
        return
    yield CheckFinding(
        severity=FindingSeverity.WARN,
        subject=picture.blue.name,
        evidence=f"{len(picture.first_form)} namespaces have the form PROPERTY/CLUSTER/NAMESPACE, which is not moved: "
        f"{the_first(picture.first_form)}",
        remedy="move their topics to namespaces of the form TENANT/NAMESPACE first: Pulsar 4.2 and later do not serve "
        "them",
    )
    for name in picture.first_form:
        if topics := picture.left_out.get(name):
            yield CheckFinding(
                severity=FindingSeverity.WARN,
                subject=name,
                evidence=f"it has {topics} topics: the cluster's own mark is not set while that is so",
                remedy="move its topics to a namespace of the form TENANT/NAMESPACE, or delete what nobody uses",
            )


def _own_bus(picture: ClusterPair) -> Iterator[CheckFinding]:
    """The daemons of every region would follow a mark like any other client."""
    moved = {each.name for each in picture.namespaces() if each.topics}
    for namespace in sorted(picture.own_namespaces & {*moved, *picture.left_out}):
        yield CheckFinding(
            severity=FindingSeverity.NEVER,
            subject=namespace,
            evidence="the daemons' own bus has topics on blue: two regions' daemons would end on one subscription of "
            "green, and one of them would hear nothing",
            remedy="move the daemons to green first, and delete what is left of their bus at blue: docs, 'Move a "
            "region's bus to another cluster'",
        )


CHECKS: Final = (
    Check(name="not-marked-yet", asks="Is no other migration under way?", stage=CheckStage.BEFORE, look=_marks),
    Check(name="not-claimed", asks="Does no other migration move them?", stage=CheckStage.BEFORE, look=_claims),
    Check(name="two-clusters", asks="Are blue and green two clusters?", stage=CheckStage.BEFORE, look=_same_cluster),
    Check(
        name="addresses", asks="Can every client follow green's addresses?", stage=CheckStage.BEFORE, look=_addresses
    ),
    Check(
        name="addresses-answer",
        asks="Does green answer at its addresses?",
        stage=CheckStage.BEFORE,
        look=_answering,
    ),
    Check(name="cluster-names", asks="Do names mean the same at both?", stage=CheckStage.BEFORE, look=_names),
    Check(name="policies-by-cluster", asks="Do policies name blue?", stage=CheckStage.BEFORE, look=_keyed_by_cluster),
    Check(
        name="whole-cluster", asks="Does the cluster's mark harm nothing?", stage=CheckStage.BEFORE, look=_taken_along
    ),
    Check(
        name="first-form-namespaces",
        asks="Is no namespace of a form that is not moved?",
        stage=CheckStage.BEFORE,
        look=_first_form,
    ),
    Check(name="own-bus", asks="Do the daemons' own topics stay?", stage=CheckStage.BEFORE, look=_own_bus),
)
