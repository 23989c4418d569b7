# ruff: noqa: E501, F401, F811 - one refusal is one line; the fixtures of a database with one of everything are those of its own tests
"""The first refusal of every command, read aloud: it says what is wrong, where, and what to do next.

Each command is given its first natural bad input, on a database with one of everything and a store beside it.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
import typer.main
from typer.testing import Result

from syncer.cli.main import app
from syncer.errors import SyncerError
from syncer.stores.sqlite.writer import OutsideWriter
from tests.support.region_database import QUIET, Run, run, state, template
from tests.unit.registers import X

NO_TERMINAL: Final = r"no terminal to ask at; nothing was changed\nhint: Give --yes to go ahead"
NO_DAEMON: Final = r"no answer from the daemon within 0 s; operation 1 stays queued until it runs: see 'syncer status'"
NO_MIGRATION: Final = r"no migration is open\nhint: Make a plan with 'syncer migration plan', and begin it with"
NO_NUMBER: Final = r"'ID': Input should be a valid integer"

REFUSALS: Final = (
    # command, exit status, what is said
    ("nope", 2, r"No such command 'nope'"),
    ("-o nope status", 2, r"'--output' / '-o': 'nope' is not one of 'table', 'json', 'yaml'"),
    ("init", 5, r"config.toml exists; it is left as it is\nhint: Name another file with --config"),
    ("init --config none/c.toml", 5, r"none/c.toml cannot be written: No such file.*\nhint: Make its directory"),
    ("init --config new --store nope", 78, r"no kind of store named 'nope'\nhint: Installed here: etcd, sqlite, zookeeper"),
    ("init --config new --bus nope", 78, r"no kind of bus named 'nope'\nhint: Installed here: embedded, pulsar"),
    ("init --config new --region 'a b'", 78, r"'a b' cannot be the id of a region\nhint: Give letters, digits"),
    ("config check --config missing", 78, r"no configuration file missing\nhint: Make one with 'syncer init', or name"),
    ("config check --config binary", 78, r"binary cannot be read: it is not UTF-8\nhint: Name a file of TOML or YAML"),
    ("config check --config folder", 78, r"folder cannot be read: it is no regular file\nhint: Name a file that is there"),
    ("config show --config text", 78, r"text is not well-formed TOML: .* \(at line 1, .*\nhint: Correct the named line"),
    ("config schema --nope", 2, r"No such option: --nope"),
    ("scope test nope", 78, r"scope pattern 'nope' is no path pattern\nhint: Write it like '/admin/policies/\*/\*\*'"),
    ("scope test --rules missing", 78, r"no configuration file missing\nhint: Check what --rules names"),
    ("scope test /admin/policies/acme --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("topic init", 2, r"Missing option '--cluster'"),
    ("topic init --cluster c=http://127.0.0.1:1", 5, r"the bus 'embedded' needs no topic\nhint: Nothing is to be done"),
    ("keys create", 2, r"Missing argument 'FILE'"),
    ("keys create none/key", 5, r"none/key cannot be written: No such file.*\nhint: Name a file in a directory"),
    ("keys create text", 5, r"text exists; it is left as it is\nhint: Name a file that is not there"),
    ("keys show missing", 5, r"missing cannot be read: No such file.*\nhint: Name a file that 'syncer keys create' wrote"),
    ("keys show folder", 5, r"folder is no file\nhint: Name a file that 'syncer keys create' wrote"),
    ("api token create", 2, r"Missing argument 'NAME'"),
    ("api token create a", 2, r"Missing option '--role'"),
    ("api token create a --role root", 2, r"'--role': 'root' is not one of 'read', 'operate', 'admin'"),
    ("api token create a --role read", 5, r"names no file of tokens\nhint: Name one in \[api\] as 'tokens'"),
    ("api token list", 5, r"names no file of tokens\nhint: Name one in \[api\] as 'tokens'"),
    ("api token revoke a", 5, r"names no file of tokens\nhint: Name one in \[api\] as 'tokens'"),
    ("api client add a --role read", 2, r"Missing option '--subject'"),
    ("api client list", 5, r"names no file of tokens\nhint: Name one in \[api\] as 'tokens'"),
    ("api client remove a", 5, r"names no file of tokens\nhint: Name one in \[api\] as 'tokens'"),
    ("notify test", 5, r"the configuration names no webhook\nhint: Give a table \[webhook.NAME\]"),
    ("context add", 2, r"Missing argument 'NAME'"),
    ("context add a", 2, r"Missing option '--server'"),
    ("context add 'a b' --server https://h", 2, r"'NAME': a name has letters, digits"),
    ("context add a --server h:1", 78, r"the address of the server is none of HTTP\nhint: Give it as 'https://HOST:PORT'"),
    ("context add a --server https://h --cert c", 2, r"--cert and --key go together"),
    ("context use", 2, r"give either a NAME or --none"),
    ("context use nope", 1, r"no context 'nope'\nhint: See 'syncer context list'"),
    ("context list nope", 2, r"unexpected extra argument"),
    ("context remove nope", 1, r"no context 'nope'\nhint: See 'syncer context list'"),
    ("status --all", 5, r"no context is kept\nhint: Make one: 'syncer context add"),
    ("status --all --watch 1", 2, r"--all looks once"),
    ("run --config missing", 78, r"no configuration file missing\nhint: Make one"),
    ("run --log-level loud", 2, r"'--log-level': 'loud' is not one of 'debug', 'info', 'warning', 'error'"),
    ("demo nope", 2, r"unexpected extra argument"),
    ("status --watch 0", 2, r"'--watch': Input should be greater than or equal to 0.1"),
    ("status --config missing", 78, r"no configuration file missing"),
    ("regions list nope", 2, r"unexpected extra argument"),
    ("jobs take --timeout 0", 4, NO_DAEMON),
    ("jobs diff", 2, r"Missing argument"),
    ("jobs list --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("jobs show 7", 1, r"no job 7"),
    ("jobs cancel", 2, r"Missing argument"),
    ("operations list --state lost", 2, r"'--state': 'lost' is not one of 'pending', 'done', 'failed', 'refused'"),
    ("operations show 7", 1, r"no operation 7\nhint: See 'syncer operations list'"),
    ("operations export --after -1", 2, r"'--after': Input should be greater than or equal to 0"),
    ("regions join --confirm", 5, rf"would give way to the group's\..*{NO_TERMINAL}"),
    ("regions leave", 5, rf"here would stand still.*cannot be taken back.*{NO_TERMINAL}"),
    ("regions forget", 2, r"Missing argument 'REGION'"),
    ("regions forget there", 5, rf"Nobody would wait for there any more.*{NO_TERMINAL}"),
    ("regions forget there --yes --timeout 0", 4, NO_DAEMON),
    ("regions admit there", 5, rf"there would be waited for again.*{NO_TERMINAL}"),
    ("events tail -n x", 2, r"'--lines' / '-n': Input should be a valid integer"),
    ("explain", 2, r"Missing argument 'PATH'"),
    ("explain nope", 1, r"nothing was ever seen of tenant nope \(/admin/policies/nope\) in region here\nhint: .*Give a path"),
    ("explain acme/orders", 1, r"nothing was ever seen of namespace acme/orders \(/admin/policies/acme/orders\)"),
    ("explain persistent://a/b/c", 1, r"of partitioned-topic persistent://a/b/c \(/admin/partitioned-topics/a/b/"),
    ("explain /loadbalance", 1, r"nothing was ever seen of /loadbalance in region here, whose scope leaves it out\nhint: "),
    ("explain a//b", 2, r"'a//b' is neither a path nor a name\. Give a path of the store"),
    ("explain /admin//b", 2, r"'/admin//b' is no path of a store: a part of it is empty.*Give a path of the store"),
    ("conflicts list --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("conflicts show", 2, r"Missing argument 'ID'"),
    ("conflicts show x", 2, NO_NUMBER),
    ("conflicts show 99", 1, r"no conflict 99\nhint: See 'syncer conflicts list --all'"),
    ("conflicts restore 99", 1, r"no conflict 99\nhint: See 'syncer conflicts list --all'"),
    ("conflicts restore 1", 5, rf"would become the newest, and replace {QUIET} in every region.*{NO_TERMINAL}"),
    ("conflicts restore 1 --over 1@x", 5, r"the newest change is 2023-\S+ \S+Z there now, and not 1@x\nhint: Look at it again"),
    ("conflicts discard", 2, r"give either a NUMBER or --by"),
    ("conflicts discard --by nope", 1, r"no value of nope has lost\nhint: See 'syncer conflicts list --all'"),
    ("conflicts discard 1", 5, rf"which lost, would be forgotten here\..*{NO_TERMINAL}"),
    ("holds list --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("holds confirm", 2, r"give either a PATH or --all"),
    ("holds confirm nope", 1, r"nothing is held at /admin/policies/nope\nhint: See 'syncer holds list'"),
    ("holds confirm --all --only nope", 1, r"nothing is held with reason 'nope'\nhint: See 'syncer holds list'"),
    ("holds confirm held-remote --stamp nope", 5, r"another change is held now \(2023.* there, first-contact\) than nope"),
    ("holds confirm held-remote", 5, rf"found at the first scan of here\) would pass the guards\..*{NO_TERMINAL}"),
    ("holds reject held-remote", 5, rf"would be rejected\.\nOUR value would win EVERYWHERE.*{NO_TERMINAL}"),
    ("holds reject --all", 5, rf"3 held changes would be rejected\..*{NO_TERMINAL}"),
    ("quarantine list --after x", 2, r"'--after': Input should be a valid integer"),
    ("quarantine retry 99", 1, r"nothing is quarantined as 99\nhint: See 'syncer quarantine list'"),
    ("quarantine discard x", 2, NO_NUMBER),
    ("quarantine discard 99", 1, r"nothing is quarantined as 99\nhint: See 'syncer quarantine list'"),
    ("quarantine discard 1", 5, rf"Entry 1 would be thrown away.*{NO_TERMINAL}"),
    ("parked list --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("diff", 2, r"give either --with FILE or --backup DIR"),
    ("diff --with missing", 78, r"no configuration file missing\nhint: Check what --with names"),
    ("diff --with config.toml", 5, r"names the very store of region here: .*\nhint: Name the configuration of the other"),
    ("diff --backup folder", 1, r"folder is no backup: it holds no MANIFEST.json\nhint: Name the directory that 'syncer backup"),
    ("diff --backup folder --allow nope", 2, r"--allow 'nope': one of bus-resource, "),
    ("plan show missing", 5, r"missing cannot be read: No such file.*\nhint: Name a file that 'syncer diff --save' wrote"),
    ("plan show empty", 1, r"empty is no plan: it is empty\nhint: Name a file that 'syncer diff --save' wrote"),
    ("plan show text", 1, r"text is no plan, or is cut off: no JSON: .*\nhint: Name a file that 'syncer diff --save' wrote"),
    ("plan apply folder", 5, r"folder cannot be read: it is no regular file\nhint: Name a file that 'syncer diff --save'"),
    ("plan reverse text", 2, r"Missing option '--save'"),
    ("migration plan", 2, r"Missing option '--save'"),
    ("migration plan --save p", 2, r"give --from NAME and --to NAME"),
    ("migration plan --save p --from b --to g", 2, r"give either --canary and --wave, or --all-namespaces"),
    ("migration plan --save p --from b --to b --canary a/b", 1, r"'cluster.b' is named as blue and as green\nhint: Name two"),
    ("migration plan --save p --from b --to g --canary a", 1, r"the canary names 'a', which is no 'tenant/namespace'\nhint: "),
    ("migration plan --save p --from b --to g --canary a/b", 1, r"has no table \[cluster.b\]\nhint: It has none yet"),
    ("migration preflight", 2, r"give --from NAME and --to NAME"),
    ("migration preflight missing", 5, r"missing cannot be read: No such file.*\nhint: Name a file that 'syncer migration plan"),
    ("migration preflight text", 1, r"text is no plan of a migration, or is cut off: it is no JSON\nhint: Name a file"),
    ("migration preflight text --from b", 2, r"give FILE alone, or options alone"),
    ("migration preflight text --bound soak_s=5", 2, r"give FILE alone, or options alone"),
    ("balancer advise", 2, r"Missing option '--cluster'"),
    ("balancer drain", 2, r"Missing argument 'BROKER...'"),
    ("balancer doctor", 2, r"Missing option '--cluster'"),
    ("balancer doctor --cluster green", 1, r"no table \[cluster.green\]\nhint: It has none yet; 'syncer init --stdout' shows how"),
    ("balancer advise --cluster green --per-hour 3", 2, r"bounds are those of a plan that is kept: give --save FILE, too"),
    ("balancer compare --synthetic 1 --recorded", 2, r"recorded load is that of a cluster: give --recorded and --cluster"),
    ("balancer compare --cluster green --since 1h", 2, r"recorded load is that of a cluster: give --recorded and --cluster"),
    ("balancer compare --cluster green --recorded --since soon", 2, r"'soon' is no duration such as 30min, 24h or 7d"),
    ("balancer compare --cluster green --recorded", 1, r"no table \[cluster.green\]\nhint: It has none yet"),
    ("balancer history show", 2, r"Missing option '--cluster'"),
    ("balancer history show --cluster green", 1, r"no table \[cluster.green\]\nhint: It has none yet"),
    ("balancer history export", 2, r"Missing argument 'FILE'"),
    ("balancer history export x.parquet --cluster green", 1, r"no table \[cluster.green\]\nhint: It has none yet"),
    ("balancer apply", 2, r"Missing argument 'FILE'"),
    ("balancer apply missing", 5, r"missing cannot be read: No such file.*\nhint: Name a file that 'syncer balancer advise"),
    ("balancer apply text", 1, r"text is no plan of moves, or is cut off: it is no JSON\nhint: Name a file that 'syncer balancer"),
    ("balancer stop", 5, r"no run of moves is open\nhint: List them with 'syncer balancer runs'"),
    ("balancer runs 7", 1, r"there is no run of moves 7\nhint: List them with 'syncer balancer runs'"),
    ("balancer runs --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("ledgers audit", 2, r"Missing option '--cluster'"),
    ("ledgers audit --cluster green", 1, r"no table \[cluster.green\]\nhint: It has none yet; 'syncer init --stdout' shows how"),
    ("ledgers audit --cluster green --ledgers-root ledgers", 2, r"--ledgers-root ledgers is no path"),
    ("ledgers audit --cluster green --ledgers-root /", 2, r"--ledgers-root / is no path"),
    ("ledgers audit --cluster green --max-reads 0", 2, r"Invalid value for '--max-reads'"),
    ("ledgers explain --cluster green", 2, r"Missing argument 'LEDGER\|TOPIC'"),
    ("ledgers explain 1 --cluster green", 1, r"no table \[cluster.green\]"),
    ("ledgers what-if --cluster green", 2, r"give bookies or --rack, or else --any K"),
    ("ledgers what-if b --any 2 --cluster green", 2, r"give bookies or --rack, or else --any K"),
    ("ledgers what-if b --quorums 2/3/2 --cluster green", 2, r"'2/3/2' cannot be: E >= QW >= QA >= 1"),
    ("ledgers what-if b --quorums 3 --cluster green", 2, r"'3' is not of the form E/QW/QA, as 3/2/2"),
    ("ledgers decommission --cluster green", 2, r"give bookies or --rack"),
    ("ledgers under-replicated --cluster green", 1, r"no table \[cluster.green\]"),
    ("ledgers orphans --cluster green --beside green", 2, r"a cluster is named twice"),
    ("ledgers orphans --cluster green --beside blue", 1, r"no table \[cluster.green\]"),
    ("ledgers history list", 2, r"Missing option '--cluster'"),
    ("ledgers history list --cluster green", 1, r"no table \[cluster.green\]"),
    ("ledgers history show 0 --cluster green", 2, r"Invalid value for 'NUMBER'"),
    ("ledgers history show --cluster green", 1, r"no table \[cluster.green\]"),
    ("ledgers history changes --cluster green", 1, r"no table \[cluster.green\]"),
    ("balancer load", 2, r"Missing option '--cluster'"),
    ("balancer load --cluster green", 1, r"no table \[cluster.green\]\nhint: It has none yet; 'syncer init --stdout' shows how"),
    ("migration preflight --stage soon", 2, r"'--stage': 'soon' is not one of 'before', 'prepared', 'guarded'"),
    ("balancer compare", 2, r"give either --synthetic or --cluster"),
    ("balancer compare --synthetic 1 --cluster green", 2, r"give either --synthetic or --cluster"),
    ("balancer compare --cluster green", 1, r"no table \[cluster.green\]\nhint: It has none yet"),
    ("balancer compare --synthetic 1 --strategy Ours", 2, r"'Ours' is none of AvgShedder, OverloadShedder, ThresholdShedder"),
    ("balancer compare --synthetic 1 --set x", 2, r"'x' is not of the form PROPERTY=VALUE"),
    ("balancer compare --synthetic 1 --set maxUnloadPercentage=much", 1, r"maxUnloadPercentage is 'much', and must be a number\nhint: "),
    ("migration rehearse", 2, r"Missing argument 'FILE'"),
    ("migration rehearse missing", 5, r"missing cannot be read: No such file.*\nhint: Name a file that 'syncer migration plan"),
    ("migration prepare", 2, r"Missing argument 'FILE'"),
    ("migration prepare text", 1, r"text is no plan of a migration, or is cut off: it is no JSON\nhint: Name a file"),
    ("migration reverse text", 2, r"Missing option '--save'"),
    ("migration reverse text --save p", 1, r"text is no plan of a migration, or is cut off: it is no JSON\nhint: Name a file"),
    ("migration start", 2, r"Missing argument 'FILE'"),
    ("migration start missing", 5, r"missing cannot be read: No such file.*\nhint: Name a file that 'syncer migration plan"),
    ("migration start text", 1, r"text is no plan of a migration, or is cut off: it is no JSON\nhint: Name a file"),
    ("migration status", 1, r"there is no migration\nhint: Make a plan with 'syncer migration plan'"),
    ("migration status 7", 1, r"there is no migration 7\nhint: See 'syncer migration list'"),
    ("migration list --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("migration events", 1, r"there is no migration\nhint: Make a plan with 'syncer migration plan'"),
    ("migration report", 1, r"there is no migration\nhint: Make a plan with 'syncer migration plan'"),
    ("migration report 7", 1, r"there is no migration 7\nhint: See 'syncer migration list'"),
    ("migration go", 1, NO_MIGRATION),
    ("migration pause", 1, NO_MIGRATION),
    ("migration resume", 1, NO_MIGRATION),
    ("migration abort", 1, NO_MIGRATION),
    ("migration rollback", 1, NO_MIGRATION),
    ("migration close", 1, NO_MIGRATION),
    ("backup create folder", 5, r"folder exists; it is left as it is\nhint: Name a directory that does not exist"),
    ("backup create none/b", 5, r"none/b cannot be written: there is no directory none\nhint: Make it, or name another"),
    ("backup verify text", 1, r"text is no backup: it holds no MANIFEST.json\nhint: "),
    ("backup diff folder", 1, r"folder is no backup"),
    ("backup restore missing", 1, r"missing is no backup"),
    ("snapshot list", 5, r"no folder of snapshots is known\nhint: Give --folder, or set 'snapshots.folder'"),
    ("snapshot list --folder text", 5, r"/text is no folder\nhint: Name the folder that snapshots are taken into"),
    ("snapshot take --buckets 0", 2, r"'--buckets': Input should be greater than or equal to 1"),
    ("snapshot show nope --folder folder", 1, r"no region and no snapshot 'nope' in \S+folder\nhint: See 'syncer snapshot list'"),
    ("snapshot diff", 2, r"name two snapshots or more, or give --since"),
    ("snapshot prune --folder folder", 5, r"nothing says which snapshots to keep\nhint: Say how many"),
    ("snapshot remove nope --folder folder", 1, r"no snapshot 'nope' in \S+folder\nhint: Give its whole id"),
    ("snapshot sync missing", 5, r"missing cannot be read: No such file.*\nhint: Make it again with 'syncer snapshot diff --plan"),
    ("snapshot sync empty", 1, r"empty is empty, or cut off: its end is missing\nhint: Make it again"),
    ("snapshot sync text", 1, r"text is no repair plan, or is damaged: no JSON: .*\nhint: Make it again"),
    ("snapshot repairs --limit 0", 2, r"'--limit': Input should be greater than or equal to 1"),
    ("snapshot progress 99", 1, r"no repair 99\nhint: See 'syncer snapshot repairs'"),
    ("snapshot cancel 99", 1, r"no repair 99\nhint: See 'syncer snapshot repairs'"),
    ("snapshot restore nope --folder folder", 1, r"no region and no snapshot 'nope' in \S+folder\nhint: "),
    ("snapshot reverse missing", 5, r"missing cannot be read: No such file.*\nhint: "),
    ("state check --config missing", 78, r"no configuration file missing"),
    ("state compact nope", 2, r"unexpected extra argument"),
    ("state rebuild", 2, r"give --without REGION or --alone; 'syncer status' shows who is waited for"),
    ("state rebuild --alone", 5, rf"What peers alone know would not be waited for.*{NO_TERMINAL}"),
    ("pause --everywhere", 5, rf"Every region would stop writing and publishing.*{NO_TERMINAL}"),
    ("pause --timeout 0", 4, NO_DAEMON),
    ("resume --timeout 0", 4, NO_DAEMON),
)  # fmt: skip

MACHINE_TALK: Final = re.compile(
    r"\bNone\b|<class|<[\w.]+ object|object at 0x|Traceback|\b[A-Z]\w+Error\b|\b[A-Z]\w+\.[A-Z_]{2,}\b|\[Errno|\[errno"
    r"|Value error|PosixPath|\b1[0-9]{12}@|surrogate"
)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands are given in place of what they want."""
    with closing(OutsideWriter(tmp_path / "s.db")) as store:
        store.put(QUIET, X)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello, world\n", encoding="utf-8")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


def said(result: Result) -> str:
    """All that was said on stderr; what Typer has put into a box is one line again."""
    text = re.sub(r"[╭╰]─.*", "", result.stderr)
    return re.sub(r" *│\n│ *", " ", text)


@pytest.mark.parametrize(("line", "status", "words"), REFUSALS, ids=[line for line, _, _ in REFUSALS])
def test_a_refusal_says_what_where_and_what_next(line: str, status: int, words: str, run: Run, places: None) -> None:
    import shlex

    result = run(*shlex.split(line))
    text = said(result)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert (int(result.exit_code), bool(re.search(words, text, re.DOTALL))) == (status, True), (result.exit_code, text)
    assert MACHINE_TALK.search(text + result.stdout) is None
    if text.startswith("error: "):
        assert "\nhint: " in text
        assert text.rstrip().endswith(".")


def test_every_command_is_refused_once() -> None:
    """A new command brings its first refusal along."""
    refused = {line for line, _, _ in REFUSALS}
    missing = [name for name in _commands() if not any(line == name or line.startswith(f"{name} ") for line in refused)]
    assert missing == []


def _commands() -> list[str]:
    found: list[str] = []
    rest = [("", typer.main.get_command(app))]
    while rest:
        name, command = rest.pop()
        below = getattr(command, "commands", None)
        if below is None:
            found.append(name)
        else:
            rest += [(f"{name} {each}".strip(), child) for each, child in below.items()]
    return sorted(found)


def test_no_error_of_a_command_line_speaks_of_another_thing() -> None:
    """The hint that a class has by itself stands below every message of it: it names nothing that need not be there."""
    for cls in _tree(SyncerError):
        assert not MACHINE_TALK.search(cls("x").hint), cls


def _tree(cls: type[SyncerError]) -> list[type[SyncerError]]:
    return [
        cls,
        *(
            each
            for child in cls.__subclasses__()
            for each in _tree(child)
            if each.__module__.startswith("syncer.errors.")
        ),
    ]
