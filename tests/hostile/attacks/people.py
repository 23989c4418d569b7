"""What goes wrong between operators and the group, and what stands beside it: files and connections."""

from __future__ import annotations

from typing import Final

from tests.hostile.attack import Attack, Topic, Who
from tests.hostile.neighbours import damaged_backups, endless_heads, hostile_plans, slow_clients
from tests.hostile.operating import (
    deletes_over_restarts,
    reject_too_late,
    restore_too_late,
    secrets_in_a_declaration,
    undo_too_late,
)

PEOPLE: Final[tuple[Attack, ...]] = (
    Attack(
        name="a restore that comes too late",
        topic=Topic.LOSING,
        what="Somebody writes between an operator's look at a conflict and its restore.",
        does=restore_too_late,
        who=(Who.OPERATOR,),
    ),
    Attack(
        name="a rejection that comes too late",
        topic=Topic.LOSING,
        what="Somebody writes between an operator's look at a held change and its rejection.",
        does=reject_too_late,
        who=(Who.OPERATOR,),
    ),
    Attack(
        name="an undo that comes too late",
        topic=Topic.LOSING,
        what="Somebody writes between an operator's look at held deletes and the command that takes them back.",
        does=undo_too_late,
        who=(Who.OPERATOR,),
        apart=True,
    ),
    Attack(
        name="deletes over restarts",
        topic=Topic.LOSING,
        what="Deletes in each of three lives of a daemon that is killed, more in all than may pass at once.",
        does=deletes_over_restarts,
        cure=("holds reject --all --yes",),
        who=(Who.OPERATOR,),
        renews=True,
        apart=True,
    ),
    Attack(
        name="secrets in a cluster's declaration",
        topic=Topic.SECRETS,
        what="A cluster is declared with the token and the passwords of its brokers, where declarations are carried.",
        does=secrets_in_a_declaration,
        who=(Who.OPERATOR,),
    ),
    Attack(
        name="slow clients",
        topic=Topic.FILES,
        what="300 connections to the HTTP surface whose requests never end.",
        does=slow_clients,
        who=(Who.NEIGHBOUR,),
    ),
    Attack(
        name="endless heads",
        topic=Topic.FILES,
        what="Requests to the HTTP surface with heads of 400 KB, of zeroes, and with a path of a megabyte.",
        does=endless_heads,
        who=(Who.NEIGHBOUR,),
    ),
    Attack(
        name="damaged backups",
        topic=Topic.FILES,
        what="Backups with manifests that are none or have rules without end, and with pipes and links for files.",
        does=damaged_backups,
        who=(Who.NEIGHBOUR,),
    ),
    Attack(
        name="plans and configurations that are none",
        topic=Topic.FILES,
        what="Plans with odd base64 and deep JSON, configurations of deep TOML and YAML.",
        does=hostile_plans,
        who=(Who.NEIGHBOUR,),
    ),
)
