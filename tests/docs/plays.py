"""How each page is played, and which commands no test can run, with the reason."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Final

from syncer.dispositions import ExitCode
from tests.docs.playing import Play
from tests.docs.stage import NAMESPACE, TENANT, TOPIC, Stage, Table
from tests.suites import REPOSITORY
from tests.support.webhook_server import receiving

SOON: Final = {"silence": "2s"}
"""A region counts as silent so soon."""


def checkout(stage: Stage) -> None:
    """A directory with the checkout's environment."""
    (stage.root / ".venv").symlink_to(REPOSITORY / ".venv")


def orders(stage: Stage, region: str, *, ttl: int = 3600, partitions: int = 4) -> None:
    """Make a tenant, a namespace and a topic."""
    stage.put(region, TENANT, {"adminRoles": ["ops"], "allowedClusters": []})
    stage.put(region, NAMESPACE, {"replication_clusters": [], "message_ttl_in_seconds": ttl})
    stage.put(region, TOPIC, {"partitions": partitions})


def agreeing(stage: Stage, **tables: Table) -> None:
    """Two regions that hold the same tenant, namespace and topic."""
    _, west = stage.pair(**tables)
    orders(stage, "east")
    stage.until(lambda: stage.get("west", TOPIC) is not None and west.quiet(), "west has the topic")


def differing(stage: Stage) -> None:
    """Two stores without daemons, which differ as the page shows."""
    for region in ("east", "west"):
        stage.region(region)
    orders(stage, "east", ttl=60)
    orders(stage, "west", ttl=120, partitions=2)
    stage.put("west", "/admin/policies/acme/new", {"replication_clusters": []})
    stage.put("east", TOPIC.replace("invoices", "only-here"), {"partitions": 1})


def signing(stage: Stage) -> None:
    """Two regions that sign what they say."""
    agreeing(stage, signing=stage.key())


def shrunk(stage: Stage) -> None:
    """A topic loses partitions in west, and east holds that."""
    stage.put("west", TOPIC, {"partitions": 2})
    stage.until(stage.regions["east"].holds, "the write is held")


def held(stage: Stage) -> None:
    """A region in which a topic that would lose partitions is held."""
    agreeing(stage)
    stage.here("west")
    stage.put("east", TOPIC, {"partitions": 2})
    stage.until(stage.regions["west"].holds, "the write is held")


def quarrelled(stage: Stage) -> None:
    """Two regions that have changed one tenant while they could not see each other."""
    agreeing(stage)
    stage.put("east", TENANT, {"adminRoles": ["first"], "allowedClusters": []})
    stage.until(lambda: b"first" in (stage.get("west", TENANT) or b""), "west has it")
    for region in stage.regions.values():
        region.command("pause")
    stage.put("east", TENANT, {"adminRoles": ["ops"], "allowedClusters": []})
    stage.put("west", TENANT, {"adminRoles": ["dev"], "allowedClusters": []})
    for region in stage.regions.values():
        region.command("resume")
    stage.until(lambda: stage.status("east").counts.conflicts, "the conflict is recorded")


def broken(stage: Stage) -> None:
    """A store with a value that is no JSON, and one that is no object."""
    agreeing(stage)
    stage.put("east", "/admin/policies/broken", "no JSON")
    stage.until(lambda: stage.status("east").counts.quarantine == 1, "it is in the quarantine")
    stage.put("east", "/admin/policies/empty", "[]")
    stage.until(lambda: stage.status("east").counts.quarantine == 2, "both are in the quarantine")


def listening(stage: Stage) -> None:
    """Two regions whose notices go to a webhook that listens."""
    ends = ExitStack()
    server = ends.enter_context(receiving())
    stage.ends(ends.close)
    secret = stage.root / "etc" / "pulsar-syncer" / "webhook.secret"
    agreeing(stage, **{"webhook.ops": {"url": server.url, "secret_file": str(secret)}})


def observing(stage: Stage) -> None:
    """A region that only observes, and one that writes."""
    east = stage.region("east")
    east.file.write_text('mode = "observe"\n' + east.file.read_text(encoding="utf-8"), encoding="utf-8")
    orders(stage, "east")
    (stage.root / "etc" / "pulsar-syncer" / "config.toml").symlink_to(east.file)


def other_rules(stage: Stage) -> None:
    """A copy of the configuration with the rules that the page shows."""
    rules = [("/admin/policies/acme", "both"), ("/admin/policies/**", "publish")]
    shown = ", ".join(f'{{ pattern = "{pattern}", direction = "{direction}" }}' for pattern, direction in rules)
    text = stage.regions["east"].file.read_text(encoding="utf-8")
    (stage.root / "new.toml").write_text(f"{text}\n[scope]\nrules = [{shown}]\n", encoding="utf-8")


def credentials(stage: Stage) -> None:
    """The directory that the installation makes."""
    (stage.root / "etc" / "pulsar-syncer" / "credentials").mkdir(mode=0o700)


def joining(stage: Stage) -> None:
    """A region that has yet to join, beside two that work; another one was there once."""
    former = stage.region("eu-old", peers=SOON)
    stage.region("eu-west", peers=SOON)
    stage.pair(peers=SOON)
    former.start()
    stage.until(lambda: "eu-old" in _heard(stage, "east"), "east has heard it")
    former.stop()
    orders(stage, "east")
    stage.region("north", peers={**SOON, "first_contact": "ask"}).start()
    stage.until(lambda: {"east", "west"} <= _heard(stage, "north"), "it has heard the others")
    stage.here("north")


def everybody_has_all(stage: Stage) -> None:
    """Wait until the others have told that they have everything of north."""
    stage.until(lambda: "north" in _heard(stage, "east") and "north" in _heard(stage, "west"), "the others know it")
    stage.until(stage.regions["north"].quiet, "it has nothing left to say")


def in_east(stage: Stage) -> None:
    """Go on in east."""
    stage.here("east")


def refused_in_east(stage: Stage) -> None:
    """Let east refuse a region that was there."""
    refused = stage.regions["eu-west"]
    refused.start()
    stage.until(lambda: "eu-west" in _heard(stage, "east"), "east has heard it")
    stage.regions["east"].command("regions", "forget", "eu-west", "--yes", "--force")


def told_in_the_region_itself(stage: Stage) -> None:
    """Let everybody refuse a region while it is away, and go on there when it has heard so."""
    refused = stage.regions["eu-west"]
    refused.stop()
    for name in ("east", "west"):
        stage.regions[name].command("regions", "forget", "eu-west", "--yes", "--force")
    refused.launch()
    stage.until(lambda: "forgotten-here" in json.dumps(refused.ask("status")[1]), "it stands still")
    stage.here("eu-west")


def _heard(stage: Stage, region: str) -> set[str]:
    with stage.regions[region].views() as views:
        return {str(row.region) for row in views.peers()}


def lost(stage: Stage) -> None:
    """A region whose database was lost, while one of its two peers is away."""
    east, west = (
        stage.region(name, peers={"expected": [other, "south"]}) for name, other in (("east", "west"), ("west", "east"))
    )
    east.start()
    west.start()
    orders(stage, "east")
    stage.until(lambda: stage.get("west", TOPIC) is not None, "west has the topic")
    east.stop()
    for file in east.directory.glob("state.db*"):
        file.unlink()
    east.launch()


def stop_east(stage: Stage) -> None:
    """Stop every daemon of the database."""
    east = stage.regions["east"]
    east.stop()
    stage.until(lambda: east.ask("state", "compact")[0] == 0, "its last report is old enough")


PLAYS: Final = {
    "tutorial/first-sync": Play(
        prepare=checkout,
        moved=(),
        answers={"syncer conflicts restore *": TENANT},
    ),
    "how-to/alert": Play(prepare=agreeing),
    "how-to/be-told": Play(prepare=listening),
    "how-to/compare-and-restore": Play(
        prepare=differing,
        answers={
            "syncer plan apply plan.json": "east",
        },
        endings={"syncer plan apply *": ExitCode.REFUSED},
    ),
    "how-to/compare-load-balancing": Play(),
    "how-to/decide-a-hold": Play(prepare=held),
    "how-to/empty-the-quarantine": Play(prepare=broken, answers={"syncer quarantine discard *": "2"}),
    "how-to/join-leave-forget": Play(
        prepare=joining,
        before={
            "syncer regions leave *": everybody_has_all,
            "syncer regions forget *": in_east,
            "syncer regions admit *refuses it*": refused_in_east,
            "syncer regions admit *itself*": told_in_the_region_itself,
        },
        answers={
            "syncer regions join --confirm *": "north",
            "syncer regions leave *": "north",
            "syncer regions forget *": "eu-old",
            "syncer regions admit *": "eu-west",
        },
        endings={"syncer regions forget *": ExitCode.REFUSED},  # it was heard a moment ago, as the page says
    ),
    "how-to/lost-database": Play(prepare=lost, before={"syncer state compact": stop_east}),
    "how-to/key-per-region": Play(prepare=credentials),
    "how-to/observe": Play(prepare=observing, before={"syncer scope test --rules *": other_rules}),
    "how-to/pause": Play(prepare=agreeing, answers={"syncer pause --everywhere *": "everywhere"}),
    "how-to/read-status": Play(
        prepare=signing, before={"syncer status --check": shrunk}, endings={"syncer status --check": ExitCode.FAILED}
    ),
    "how-to/resolve-a-conflict": Play(prepare=quarrelled),
    "how-to/rotate-the-group-key": Play(),
    "how-to/upgrade-and-downgrade": Play(prepare=agreeing),
}
"""Page → how it is played, by the embedded store and bus."""
