"""Files that somebody hands to a command or a daemon: without end, false but sealed, or used once more."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from spark_snapshot.audit.manifest import AuditedStore, AuditManifest, AuditSummary, open_audit
from spark_snapshot.format.layout import open_snapshot
from spark_snapshot.format.manifest import Described, SnapshotManifest, StoreFacts
from syncer.admin.auth import OAuth2Auth, TokenAuth
from syncer.admin.oauth2 import OAuth2Tokens
from syncer.cli.main import main
from syncer.conflict.scope import Scope
from syncer.dispositions import ExitCode
from syncer.errors import SyncerError
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.plan.operations import Operation, planned
from syncer.planning import plan_file
from syncer.repair import repair_file
from syncer.repair.repair_file import DifferingPath, Head, RegionPart
from syncer.waiting import until
from tests.hostile.daemon import LOADED
from tests.hostile.neighbours import REFUSED
from tests.hostile.scene import Scene
from tests.shell.on_bus import change, heartbeat
from tests.shell.region import tenant
from tests.support.forked import leashed, say_into

ROOM_MIB: Final = 1_024
"""Memory that a command may take for a hostile file: as much as one of its bounds asks for, not what the file says."""
PROGRAM: Final = "pulsar-syncer 0.0"
ANSWER_S: Final = 300
LEVELS: Final = 100_000
SPARSE_BYTES: Final = 1 << 43
MANIFEST: Final = "MANIFEST.json"
SNAPSHOT: Final = "20300101T000000.000Z"
OPEN: Final[Mapping[str, Callable[[str], object]]] = {
    "open-snapshot": open_snapshot,
    "open-audit": open_audit,
    "read-token": lambda file: TokenAuth(file=Path(file)).read(),
    "read-credentials": lambda file: OAuth2Tokens(
        OAuth2Auth(issuer_url="http://127.0.0.1:1", credentials_file=Path(file)), timeout_s=1
    )._credentials(),
}
"""What reads a file that no command takes by itself."""


@dataclass(frozen=True, slots=True)
class Given:
    """One command.

    Args:
        words: Behind ``syncer``, or one of :data:`OPEN` and a folder.
        environment: Variables that it is given with.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


async def refused(scene: Scene, given: Sequence[Given]) -> None:
    """Give commands, one after the other in one process; each refuses in words, within the memory that there is."""
    folder = scene.group.folder / f"handed-{scene.number}-out"
    folder.mkdir()
    jobs = [(each.words, dict(each.environment)) for each in given]
    process = leashed(_give_all, jobs, str(folder), loaded=LOADED)
    try:
        await until(lambda: process.exitcode is not None, f"{len(given)} commands refuse what they are given")
    finally:
        process.kill()
        process.join()
    assert (folder / "end").exists(), f"{given[len(list(folder.iterdir())) - 1].words} ended the process"
    room, *ended = json.loads((folder / "end").read_text())
    for number, (each, status) in enumerate(zip(given, ended, strict=True)):
        text = (folder / f"{number}").read_text(encoding="utf-8", errors="replace")
        assert status in {*REFUSED, ExitCode.NOT_ALLOWED}, (
            f"'syncer {' '.join(each.words)}' ended with {status}: {text[-300:]}"
        )
        assert "Traceback" not in text, f"'syncer {' '.join(each.words)}' fell: {text[-300:]}"
    assert room < ROOM_MIB, f"the commands took {room:.0f} MiB, bound {ROOM_MIB}"


def _give_all(jobs: Sequence[tuple[tuple[str, ...], Mapping[str, str]]], folder: str) -> None:
    usual, ended = dict(os.environ), list[int]()
    for number, (words, environment) in enumerate(jobs):
        os.environ.clear()
        os.environ.update({**usual, **environment})
        say_into(f"{folder}/{number}")
        ended.append(_give(words))
    room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    Path(folder, "end").write_text(json.dumps([room, *ended]))


def _give(words: tuple[str, ...]) -> int:
    """Give one command; its exit status."""
    if opener := OPEN.get(words[0]):
        try:
            opener(words[1])
        except SyncerError as exc:
            print(exc.message)
            return ExitCode.FAILED
        return ExitCode.DONE
    import sys

    sys.argv = ["syncer", *words]
    try:
        main()
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else ExitCode.FAILED
    return ExitCode.DONE


# -- without end


def _endless(folder: Path) -> Iterator[Path]:
    """Make files that never end, or that are far larger than what they are taken for."""
    pipe = folder / "pipe"
    os.mkfifo(pipe, 0o600)
    zeroes = folder / "zeroes"
    zeroes.symlink_to("/dev/zero")
    sparse = folder / "sparse"
    sparse.touch(mode=0o600)
    os.truncate(sparse, SPARSE_BYTES)
    deep = folder / "deep"
    deep.touch(mode=0o600)
    deep.write_bytes(b"[" * LEVELS)
    yield from (pipe, zeroes, sparse, deep)


def _in_place_of(file: Path, name: str) -> Path:
    """Make a folder in which a file stands under a name."""
    folder = file.parent / f"{file.name}-as-{name}" / SNAPSHOT
    folder.mkdir(parents=True)
    if file.is_fifo():
        os.mkfifo(folder / name, 0o600)
    else:
        os.link(file, folder / name, follow_symlinks=False)
    return folder


def _configured(scene: Scene, file: Path, **tables: Any) -> Path:
    """Write a configuration of east whose tables name a file."""
    usual = json.loads(scene.east.file.read_text(encoding="utf-8"))
    made = file.parent / f"{file.name}-{'-'.join(tables)}.yaml"
    made.touch(mode=0o600)
    made.write_text(json.dumps({**usual, **tables}))
    return made


def _naming(scene: Scene, file: Path) -> Iterator[Given]:
    """Yield the commands that read a file which the configuration or the environment names."""
    named = str(file)
    away = "http://127.0.0.1:1"
    hook = {"url": "https://127.0.0.1:1", "secret_file": named, "template_file": named}
    for words, tables in (
        (("config", "check"), {"signing": {"key_files": [named]}}),
        (("config", "check"), {"webhook": {"one": hook}}),
        (("api", "token", "list"), {"api": {"tokens": named}}),
    ):
        yield Given(("--config", str(_configured(scene, file, **tables)), *words))
    yield Given(("--server", away, "status"), {"SYNCER_TOKEN_FILE": named})
    yield Given(("read-token", named))
    yield Given(("read-credentials", named))
    home = _in_place_of(file, "contexts.json").parent
    (home / SNAPSHOT).rename(home / "pulsar-syncer")
    yield Given(("--context", "one", "status"), {"XDG_CONFIG_HOME": str(home)})
    secrets = _in_place_of(file, "log.level")
    if file.is_file():  # what is none is left out
        yield Given(("--config", str(scene.east.file), "config", "check"), {"CREDENTIALS_DIRECTORY": str(secrets)})


def _reading(scene: Scene, file: Path) -> Iterator[Given]:
    """Yield the commands that read a file which is given to them."""
    named, config = str(file), ("--config", str(scene.east.file))
    yield Given(("--config", named, "config", "check"))
    for words in (
        ("scope", "test", "--rules"),
        ("diff", "--with"),
        ("plan", "show"),
        ("plan", "apply", "--yes"),
        ("plan", "reverse", "--save", f"{named}-reversed"),
        ("snapshot", "sync", "--dry-run"),
        ("migration", "preflight"),
        ("balancer", "apply"),
        ("keys", "show"),
    ):
        yield Given((*config, *words, named))
    folder = str(_in_place_of(file, MANIFEST))
    yield Given((*config, "backup", "verify", folder))
    yield Given((*config, "backup", "restore", "--dry-run", folder))
    yield Given(("open-snapshot", folder))
    yield Given(("open-audit", folder))


async def files_without_end(scene: Scene) -> None:
    """Have each command read what never ends, or is larger than all memory."""
    folder = scene.group.folder / f"handed-{scene.number}"
    folder.mkdir()
    given = [each for file in _endless(folder) for way in (_reading, _naming) for each in way(scene, file)]
    await refused(scene, given)
    scene.group.write_everywhere()


# -- false


def _sealed(document: Mapping[str, Any]) -> bytes:
    """Return a manifest with the checksum that it would have."""
    content = {name: each for name, each in document.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps({**content, "sha256": digest}).encode()


def _head(now: Millis, **facts: Any) -> Head:
    """Return the head of a repair plan that the group would take, but for these facts."""
    usual = {
        "scope": Scope().fingerprint,
        "tie_order": str(TieOrder.SMALLER_REGION),
        "projections": heartbeat().projections,
        "regions": (RegionPart(region="east", snapshot="1", taken_at_ms=now),),
        "made_at_ms": now,
    }
    return Head(**{**usual, **facts})


def _stamped(path: MetaPath, value: bytes, time_ms: int) -> DifferingPath:
    """Return a path whose version is said to be west's."""
    event = change(path, value, region="west", time_ms=time_ms, sequence=1)
    return DifferingPath(path=path, found_in=Region("west"), cls="differs", losers=(Region("east"),), event=event)


async def _false_backups(scene: Scene, folder: Path) -> list[Given]:
    """Make backups of which a sealed manifest says what is false."""
    whole = folder / "whole"
    await scene.east.command("backup", "create", str(whole))
    manifest = json.loads((whole / MANIFEST).read_bytes())
    first, *others = manifest["files"]  # one that lists fewer files is a smaller backup, and no lie
    lies: dict[str, dict[str, Any]] = {
        "another-region": {"region": "west"},
        "another-digest": {"files": [{**first, "sha256": "0" * 64}, *others]},
        "another-place": {"files": [{**first, "name": "../../state.db"}, *others]},
        "more-rows": {"files": [{name: each + 1 if type(each) is int else each for name, each in first.items()}]},
    }
    given = []
    for name, lie in lies.items():
        false = folder / name
        shutil.copytree(whole, false)
        (false / MANIFEST).write_bytes(_sealed({**manifest, **lie}))
        given.append(Given(("--config", str(scene.east.file), "backup", "restore", "--yes", "--delete", str(false))))
    return given


def _false_snapshots(folder: Path) -> list[Given]:
    """Make manifests of snapshots and audits that are sealed, and false."""
    about = Described(
        region="west",
        taken_at_ms=1,
        made_by=PROGRAM,
        store=StoreFacts(kind="sqlite"),
        registers=True,
        scope=(),
        scope_fingerprint="nothing",
        ties=TieOrder.SMALLER_REGION,
    )
    sound = SnapshotManifest(id=SNAPSHOT, taken_at="now", about=about, buckets=1, kinds={}, files=())
    document = json.loads(sound.text())
    file = {"name": "../../../state.db", "bucket": 0, "rows": 1, "bytes": 1, "sha256": "0" * 64}
    lies: dict[str, dict[str, Any]] = {
        "another": {"id": "another"},
        "elsewhere": {"files": [file]},
        "fields": {"about": {**document["about"], "exclude": [{"pattern": "/**", "fields": ["adminRoles"]}]}},
        "format": {"format": "pulsar-syncer-ledger-audit"},
    }
    given = []
    for name, lie in lies.items():
        place = folder / "snapshots" / name / SNAPSHOT
        (place / "data").mkdir(parents=True)
        (place / MANIFEST).write_bytes(_sealed({**document, **lie}))
        given.append(Given(("open-snapshot", str(place))))
    return given


def _false_audits(folder: Path) -> list[Given]:
    """Make manifests of audits that are sealed, and whose tables are not there, or elsewhere."""
    counts = ("ledgers", "entries", "lost_entries", "bytes", "lost_bytes", "unknown_bytes", "not_recoverable")
    others = ("single_copy", "references", "sets_left_out")
    nothing: dict[str, Any] = {"classes": {}, "undecodable": {}, "bookies_known": True, "bookies_away": ()}
    about = AuditedStore(cluster="east", taken_at_ms=1, made_by=PROGRAM, store=StoreFacts(kind="sqlite"), root="/")
    summary = AuditSummary(**dict.fromkeys((*counts, *others), 0), **nothing)
    document = json.loads(AuditManifest(id=SNAPSHOT, about=about, summary=summary, tables={}).text())
    file = {"name": "part.parquet", "rows": 1, "bytes": 1, "sha256": "0" * 64}
    lies: dict[str, dict[str, Any]] = {
        "missing": {"tables": {"ledgers": [file]}},
        "elsewhere": {"tables": {"../../..": [{**file, "name": "state.db"}]}},
        "other-format": {"format": "pulsar-syncer-snapshot"},
        "fewer-ledgers-than-none": {"summary": {**document["summary"], "ledgers": -1}},
    }
    given = []
    for name, lie in lies.items():
        place = folder / "audits" / name
        place.mkdir(parents=True)
        (place / MANIFEST).write_bytes(_sealed({**document, **lie}))
        given.append(Given(("open-audit", str(place))))
    return given


async def files_that_lie(scene: Scene) -> None:
    """Have commands take plans and manifests that are sealed, and say what is false."""
    folder = scene.group.folder / f"false-{scene.number}"
    folder.mkdir()
    victim, east = scene.victim, ("--config", str(scene.east.file))
    standing = scene.east.get(victim)
    given = [*await _false_backups(scene, folder), *_false_snapshots(folder), *_false_audits(folder)]
    for name, region, before in (("region", "west", standing), ("before", "east", b'{"adminRoles":["never"]}')):
        file = folder / f"{name}.plan"
        after = tenant("lie")
        operations = [Operation(path=victim, before=before, after=after)]
        plan = planned(region=Region(region), source="west", made_at_ms=scene.now, operations=operations)
        file.write_text(plan_file.to_text(plan))
        given.append(Given((*east, "plan", "apply", "--yes", str(file))))
    heads: dict[str, dict[str, Any]] = {
        "scope": {"scope": "nothing"},
        "ties": {"tie_order": str(TieOrder.NATIVE)},
        "projections": {"projections": {}},
        "nobody": {"regions": ()},
        "old": {"regions": (RegionPart(region="east", snapshot="1", taken_at_ms=1),)},
    }
    for name, facts in heads.items():
        file = folder / f"{name}.repair"
        repair_file.write(file, _head(scene.now, **facts), [_stamped(victim, tenant("lie"), scene.now)])
        given.append(Given((*east, "snapshot", "sync", "--yes", "--timeout", "60", str(file))))
    for noun, words in (
        ("pulsar-syncer-moves", ("balancer", "apply")),
        ("pulsar-syncer-migration", ("migration", "preflight")),
    ):
        file = folder / f"{noun}.plan"
        file.write_bytes(_sealed({"format": noun, "version": 1, "cluster": "nobody", "moves": []}))
        given.append(Given((*east, *words, str(file))))
    config = folder / "two.yaml"
    config.touch(mode=0o600)
    usual = json.loads(scene.east.file.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**usual, "region": "east/west", "store": {"kind": "nothing"}, "nonsense": True}))
    given.append(Given(("--config", str(config), "config", "check")))
    await refused(scene, given)
    assert scene.east.get(victim) == standing, "a lie of a file was written"
    scene.group.write_everywhere()


# -- once more


async def files_used_again(scene: Scene) -> None:
    """Use a backup's plan and a repair plan twice: what people have written in between stays."""
    folder = scene.group.folder / f"again-{scene.number}"
    folder.mkdir()
    group, east, victim = scene.group, scene.east, scene.victim
    backup, plan, repair = folder / "backup", folder / "back.plan", folder / "old.repair"
    old = east.get(victim)
    assert old is not None
    event = _known(scene, victim, old)
    await east.command("backup", "create", str(backup))
    group.write(east, victim, tenant("second"))
    await scene.until(lambda: scene.west.get(victim) == tenant("second"), "the second value is everywhere")
    await east.command("diff", "--backup", str(backup), "--save", str(plan), status=ExitCode.DIFFERENT)
    await east.command("plan", "apply", "--yes", str(plan))
    await scene.until(lambda: scene.west.get(victim) == old, "the plan brings the first one back")
    group.honest[victim] = []  # who applied it has seen what it replaces
    group.write(east, victim, tenant("third"))
    await scene.until(lambda: scene.west.get(victim) == tenant("third"), "the third value is everywhere")
    repair_file.write(repair, _head(scene.now), [event])
    await refused(scene, [Given(("--config", str(east.file), "plan", "apply", "--yes", str(plan)))])
    for _ in range(2):
        await east.command("snapshot", "sync", "--force-old", "--yes", "--timeout", f"{ANSWER_S}", str(repair))
    assert east.get(victim) == tenant("third"), "an old file has brought an old value back"
    group.write_everywhere()


def _known(scene: Scene, path: MetaPath, value: bytes) -> DifferingPath:
    """Return the version of a path that all know, as a repair plan would tell it."""
    register = scene.east.ask(lambda views: views.register(path))
    known = register.known
    event = replace(
        change(path, value, region=known.stamp.region, time_ms=known.stamp.updated_at_ms), by=known.by, seen=known.seen
    )
    return DifferingPath(path=path, found_in=Region("west"), cls="differs", losers=(Region("east"),), event=event)


# -- of others


async def secrets_of_others(scene: Scene) -> None:
    """Have other users of the host be able to write keys, the file of tokens, and the file of contexts."""
    folder = scene.group.folder / f"others-{scene.number}"
    home = folder / "pulsar-syncer"
    home.mkdir(parents=True)
    key, rights, contexts = folder / "key", folder / "tokens.json", home / "contexts.json"
    for file, source in ((key, None), (rights, folder.parent.parent / "tokens.json"), (contexts, None)):
        file.write_bytes(b"{}" if source is None else source.read_bytes())
        file.chmod(0o666)
    await refused(
        scene,
        [
            Given(("keys", "show", str(key))),
            Given(("--config", str(_configured(scene, key, signing={"key_files": [str(key)]})), "config", "check")),
            Given(("--config", str(_configured(scene, rights, api={"tokens": str(rights)})), "api", "token", "list")),
            Given(("--context", "one", "status"), {"XDG_CONFIG_HOME": str(folder)}),
        ],
    )
    scene.group.write_everywhere()
