"""The rows of the table but those of routes: each entry, and the reasons of cells that no attack fills.

An entry that the code has and no row names, a cell that is empty, and a cell with both an attack and a reason are found
by ``tests/unit/hostile/test_cells.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.hostile.cells.columns import Column

COST, LIE, REPLAY, FORGED = Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One entry.

    Args:
        entry: Its name.
        why: For columns that no attack fills: why there is no such attack, or why it cannot harm.
        covers: Names of the code that this entry stands for; of an entry that is one of the code's own: none.
    """

    entry: str
    why: Mapping[Column, str] = field(default_factory=dict)
    covers: tuple[str, ...] = ()


def rows_of(entries: Iterable[str], why: Mapping[Column, str] | None = None) -> tuple[Row, ...]:
    """Return a row for each of these entries, all with the same reasons."""
    return tuple(Row(entry=entry, why=why or {}) for entry in entries)


_CONTROLS: Final = ("forget", "lacking", "pause", "prove", "request", "resume", "retell")
MESSAGES: Final = (
    "message MetadataChangeEvent",
    "message Heartbeat",
    "message TreeMessage",
    "message StateRequest",
    "message StatePage",
    *(f"message Control {each}" for each in _CONTROLS),
    "message native",
)
_OF_TWO_WORDS: Final = ("tie_order", "renaming")
_SIZED: Final = (
    "region",
    "sender",
    "generation",
    "sent_at_ms",
    "last_sequence",
    "consumed",
    "watermark",
    "projections",
    "scope",
    "mode",
    "version",
    "reached",
    "tree",
    "root",
    "alive",
    "unseated_deletes",
    "oldest_unseated_ms",
    "unfolded",
    "retold",
    "refused",
    "generations",
    "brokers",
    "able",
    "ready",
    "rules",
    "roots",
    "clusters",
    "names",
    "excluded",
    "offloaded",
)
FIELDS: Final = tuple(f"heartbeat {each}" for each in (*_SIZED, *_OF_TWO_WORDS))

BUS: Final = (
    *rows_of(MESSAGES),
    *rows_of(f"heartbeat {each}" for each in _SIZED),
    *rows_of(
        (f"heartbeat {each}" for each in _OF_TWO_WORDS),
        {COST: "One of two words: any other is refused, and neither takes more room than the other."},
    ),
)

_OWNER: Final = "It is read with the daemon's rights from the host, whose administrator is trusted: who may write it "
SNAPSHOT: Final = "manifest spark_snapshot.format.manifest"
AUDIT: Final = "manifest spark_snapshot.audit.manifest"
BACKUP: Final = "manifest syncer.backup.layout"
MANIFESTS: Final = (SNAPSHOT, AUDIT, BACKUP)
_NO_SIGNATURE: Final = (
    "It bears a checksum, which finds damage, and no signature: who may write the folder can seal it anew. What it "
    "says is compared with the region again before anything is written."
)
_WHAT_WAS: Final = (
    "To bring back what was is what it is for. Each change is shown before it is made, with the time of what it comes "
    "from, and can be undone; deletes want a word of their own. 'snapshot sync' refuses what is older than the deletes "
    "that the group remembers, and raises nothing that may have been deleted since (tests/simulation)."
)
MANIFEST_ROWS: Final = (
    *rows_of(
        (SNAPSHOT, BACKUP),
        {REPLAY: _WHAT_WAS, FORGED: _NO_SIGNATURE},
    ),
    Row(
        entry=AUDIT,
        why={
            REPLAY: "It is only shown and compared: every answer names the time at which it was taken.",
            FORGED: "It bears a checksum and no signature, and nothing is written by it.",
        },
    ),
)

CONFIGURATION: Final = "file configuration"
PLAN: Final = "file plan"
REPAIR: Final = "file repair plan"
MIGRATION: Final = "file migration plan"
MOVES: Final = "file plan of moves"
BACKUPS: Final = "file backup"
SNAPSHOTS: Final = "file snapshot"
OFFLINE: Final = "file store snapshot"
LEDGERS: Final = "file ledger records"
SECRET: Final = "file password or token"
SIGNING: Final = "file signing key"
OAUTH: Final = "file OAuth2 credentials"
TLS: Final = "file certificate"
TLS_KEY: Final = "file private key of TLS"
RIGHTS: Final = "file tokens"
TEMPLATE: Final = "file webhook template"
CONTEXTS: Final = "file contexts"
CREDENTIALS: Final = "file systemd credentials"
DATABASES: Final = "file SQLite"
HISTORY: Final = "file load history"
WRITTEN: Final = "file written only"

_SAME_WORDS: Final = "It says the same whenever it is read: it has no order, no number and no time to be replayed by."
_LOCAL: Final = _OWNER + "is that administrator. It bears no signature that could be forged."
_PLAN_SAYS: Final = (
    "It is performed as it says, and shows what it does before that: a plan from a stranger is looked at first "
    "('plan show', a dry run). Its checksum finds damage, not forgery."
)
_SECRETS: Final = {
    LIE: "A wrong secret opens nothing: who is asked refuses it, and the status says so.",
    REPLAY: "A secret of before opens nothing once it was changed where it is asked for.",
    FORGED: _LOCAL,
}

_OWN_PROCESS: Final = (
    "A command reads it in a process of its own, on its user's wish and with its user's rights: whatever it takes, the "
    "daemon is not concerned, and the process can be ended."
)
_OPENSSL: Final = (
    "OpenSSL reads it at a start, or for a command, where the administrator names it; who may put a pipe or a device "
    "in its place has the administrator's rights."
)


def _of(entry: str, covers: str, why: Mapping[Column, str]) -> Row:
    return Row(entry=entry, covers=tuple(each.strip() for each in covers.split(",")), why=why)


FILE_ROWS: Final = (
    _of(
        CONFIGURATION,
        "option --config, option scope test --rules, option diff --with",
        {REPLAY: _SAME_WORDS, FORGED: _LOCAL},
    ),
    _of(
        PLAN,
        "option plan show file, option plan apply file, option plan reverse file",
        {FORGED: _PLAN_SAYS},
    ),
    _of(REPAIR, "option snapshot sync plan, option snapshot reverse plan", {FORGED: _PLAN_SAYS}),
    _of(
        MIGRATION,
        "option migration preflight file, option migration start file, option migration rehearse file, "
        "option migration prepare file, option migration reverse file",
        {
            REPLAY: "A second start is refused while a migration of the same namespaces is open, and each start judges "
            "its conditions anew against both clusters (tests/api/test_migrations.py).",
            FORGED: _PLAN_SAYS,
        },
    ),
    _of(
        MOVES,
        "option balancer apply file",
        {
            REPLAY: "Each move is judged again by where its bundle is now; one that was made already is skipped "
            "(tests/unit/balancer).",
            FORGED: _PLAN_SAYS,
        },
    ),
    _of(
        BACKUPS,
        "option backup create directory, option backup verify directory, option backup diff directory, "
        "option backup restore directory, option diff --backup",
        {REPLAY: _WHAT_WAS, FORGED: _NO_SIGNATURE},
    ),
    _of(
        SNAPSHOTS,
        "option snapshot diff --folder, option snapshot list --folder, option snapshot prune --folder, "
        "option snapshot remove --folder, option snapshot restore --folder, option snapshot reverse --folder, "
        "option snapshot show --folder, option snapshot take --folder",
        {REPLAY: _WHAT_WAS, FORGED: _NO_SIGNATURE},
    ),
    _of(
        OFFLINE,
        "option snapshot take --offline",
        {
            COST: _OWN_PROCESS,
            LIE: "It becomes a snapshot, and nothing else: what is done with that is the row of snapshots.",
            REPLAY: "The snapshot that it becomes has the store's own revision and time.",
            FORGED: _LOCAL,
        },
    ),
    _of(
        LEDGERS,
        "option ledgers audit --from-files, option ledgers decommission --from-files, "
        "option ledgers explain --from-files, option ledgers under-replicated --from-files, "
        "option ledgers what-if --from-files",
        {
            COST: _OWN_PROCESS,
            LIE: "The answer is about these files, and says so; nothing is written by it.",
            REPLAY: "The answer names the time at which the files were taken.",
            FORGED: _LOCAL,
        },
    ),
    _of(
        SECRET,
        "config admin.token_file, config cluster.admin.token_file, config state.password_file, "
        "config store.etcd.password_file, config store.zookeeper.auth.password_file, "
        "config store.zookeeper.tls.key_password_file, config webhook.secret_file, config bus.pulsar.auth.file, "
        "environment SYNCER_TOKEN_FILE, option context add --token-file",
        _SECRETS,
    ),
    _of(
        SIGNING,
        "config signing.key_files, config signing.region_key_file, option keys show file, option keys create file",
        {
            LIE: "A wrong key is refused by all others, and the status says so: 'signature-invalid'.",
            REPLAY: "A key of before is refused where the configuration names it no longer.",
        },
    ),
    _of(
        OAUTH,
        "config admin.oauth2.credentials_file, config cluster.admin.oauth2.credentials_file, "
        "config bus.pulsar.auth.credentials_file",
        _SECRETS,
    ),
    _of(
        TLS,
        "config admin.ca_file, config admin.cert_file, config cluster.admin.ca_file, config cluster.admin.cert_file, "
        "config api.tls.certificate, config api.tls.client_ca, config bus.pulsar.auth.certificate, "
        "config bus.pulsar.trust.certificates, config store.etcd.tls.ca_file, config store.etcd.tls.cert_file, "
        "config store.zookeeper.tls.ca, config store.zookeeper.tls.cert, config webhook.ca_file, "
        "environment SYNCER_CA_FILE, environment SYNCER_CERT_FILE, option context add --ca, option context add --cert",
        {
            COST: _OPENSSL,
            LIE: "OpenSSL refuses a certificate that is none, or that no trusted one has signed.",
            REPLAY: "A certificate of before is good until it expires, as every certificate is.",
            FORGED: _LOCAL,
        },
    ),
    _of(
        TLS_KEY,
        "config admin.key_file, config cluster.admin.key_file, config api.tls.key, config bus.pulsar.auth.key, "
        "config store.etcd.tls.key_file, config store.zookeeper.tls.key, environment SYNCER_KEY_FILE, "
        "option context add --key",
        {COST: _OPENSSL, **_SECRETS},
    ),
    _of(
        RIGHTS,
        "config api.tokens",
        {
            LIE: "It holds hashes of secrets: a row that nobody has the secret of lets nobody in.",
            REPLAY: "A file of before lets in who was struck out since. It is the administrator's, and 'syncer api "
            "token list' shows whom it names.",
        },
    ),
    _of(
        TEMPLATE,
        "config webhook.template_file",
        {
            LIE: "It says how a notice is worded; only names of the notice stand in it.",
            REPLAY: _SAME_WORDS,
            FORGED: _LOCAL,
        },
    ),
    Row(
        entry=CONTEXTS,
        why={
            LIE: "It names addresses, and the user's own files; who may write it says where the user's token goes.",
            REPLAY: _SAME_WORDS,
        },
    ),
    Row(entry=CREDENTIALS, why={**_SECRETS, FORGED: "systemd makes the folder for the daemon's user alone."}),
    _of(
        DATABASES,
        "config state.path, config store.sqlite.path, config bus.embedded.path",
        {
            COST: "Only the daemon's user writes it, within rooms of its own that other attacks try to fill.",
            REPLAY: "An old copy is found by the fence in the store and by what the peers have of it: own evidence of "
            "an old copy, in the threat model.",
            LIE: "Who may write it has all rights of the daemon (the threat model says so).",
            FORGED: _LOCAL,
        },
    ),
    _of(
        HISTORY,
        "config cluster.history.path",
        {
            COST: "The daemon alone writes it, never beyond cluster.history.max_bytes.",
            LIE: "Advice by it is shown with its age, and a plan is looked at before it is applied.",
            REPLAY: "Each sample has a time; advice names the age of what it goes by.",
            FORGED: _LOCAL,
        },
    ),
    _of(
        WRITTEN,
        "config bus.pulsar.client_log, config snapshots.work, option backup diff --save, option backup restore --undo, "
        "option balancer advise --save, option balancer compare --html, option balancer drain --save, "
        "option balancer history export file, option diff --save, option ledgers audit --html, "
        "option migration plan --save, option migration report --html, option migration reverse --save, "
        "option plan apply --undo, option plan reverse --save, option snapshot diff --plan, "
        "option snapshot diff --report, option snapshot diff --scratch, option snapshot restore --save, "
        "option snapshot restore --undo, option snapshot reverse --save, option snapshot reverse --undo, "
        "option snapshot take --scratch",
        dict.fromkeys(Column, "The program writes it, and reads nothing of it that others have written."),
    ),
)
FILES: Final = tuple(row.entry for row in FILE_ROWS)
