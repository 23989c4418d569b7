"""Rows for the bench ``diff``: regions that hold namespaces with realistic policies, and differ as regions do.

Of all paths about 1 % are changed on one side, 0.1 % are missing on each side, 0.5 % are deleted in some region, 0.1 %
are changed on two sides in the same millisecond; 30 % of what is equal has another stamp in the second region. A value
has 0.5 to 2 KB. Everything follows from a path's number, so that the same rows are made again and any part of them can
be judged by the referee.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

REGIONS: Final = ("east", "west", "north")
T0: Final = 1_700_000_000_000
NAMESPACES_PER_TENANT: Final = 500

# Shares, of 10,000 paths: a path's draw decides what becomes of it.
_CHANGED: Final = 100
_MISSING: Final = 10
_DELETED: Final = 50
_TIED: Final = 10

_AUTHORS: Final = str(list(REGIONS))

_VALUE: Final = """
    '{"auth_policies":{"namespace_auth":{' ||
    array_to_string(list_transform(range(1 + (draw >> 20) % 22), lambda role:
        '"service-' || ((draw >> 8) + role * 7919) % 100000 || '-' || role || '":["produce","consume"]'), ',') ||
    '},"destination_auth":{},"subscription_auth_roles":{}},"replication_clusters":["east","west"],'
    '"bundles":{"boundaries":["0x00000000","0x40000000","0x80000000","0xc0000000","0xffffffff"],"numBundles":4},'
    '"backlog_quota_map":{"destination_storage":{"limitSize":' || (1 + draw % 64) * 1073741824 ||
    ',"limitTime":-1,"policy":"producer_exception"}},"clusterDispatchRate":{},"topicDispatchRate":{},'
    '"persistence":{"bookkeeperEnsemble":3,"bookkeeperWriteQuorum":3,"bookkeeperAckQuorum":2,'
    '"managedLedgerMaxMarkDeleteRate":0.0},"message_ttl_in_seconds":' || (86400 + edition) ||
    ',"retention_policies":{"retentionTimeInMinutes":' || draw % 10080 || ',"retentionSizeInMB":10240},'
    '"deleted":false,"schema_compatibility_strategy":"UNDEFINED","is_allow_auto_update_schema":true}'
"""


def make(target: Path, region: int, rows: int, *, memory_limit: str = "2GB") -> None:
    """Write one region's rows as plain Parquet, in the columns of a snapshot, in no order that helps.

    Args:
        target: The file.
        region: Number of the region in ``REGIONS``.
        rows: Paths of all regions together.
        memory_limit: For the maker.
    """
    name = REGIONS[region]
    with duckdb.connect() as link:
        link.execute(f"SET memory_limit = '{memory_limit}'; SET preserve_insertion_order = false")
        link.execute(
            f"""
            COPY (
              WITH drawn AS (
                SELECT range AS number, (hash(range) >> 1)::BIGINT AS draw,
                       ((hash(range + 77777777) >> 1) % 10000)::INTEGER AS fate
                FROM range({rows})
              ), fated AS (
                SELECT *, fate < {_CHANGED} AND draw % 2 = {region} AS changed,
                  fate BETWEEN {_CHANGED} AND {_CHANGED + 2 * _MISSING - 1}
                    AND (fate - {_CHANGED}) // {_MISSING} = {region} AS missing,
                  fate BETWEEN {_CHANGED + 20} AND {_CHANGED + 20 + _DELETED - 1} AND draw % 3 = {region} AS deleted,
                  fate BETWEEN {_CHANGED + 70} AND {_CHANGED + 70 + _TIED - 1} AS tied,
                  fate % 10 < 3 AND {region} = 1 AS restamped
                FROM drawn
              ), made AS (
                SELECT *, CASE WHEN changed OR tied THEN {region + 1} ELSE 0 END AS edition FROM fated WHERE NOT missing
              ), held AS (
                SELECT *, CASE WHEN deleted THEN NULL ELSE {_VALUE} END AS text FROM made
              )
              SELECT
                printf('/admin/policies/tenant-%05d/namespace-%08d', number // {NAMESPACES_PER_TENANT}, number) AS path,
                'namespace' AS kind,
                printf('tenant-%05d', number // {NAMESPACES_PER_TENANT}) AS tenant,
                unhex(md5(text)) AS digest,
                {T0} + draw % 1000000 + CASE WHEN changed OR tied OR deleted THEN 5 WHEN restamped THEN 1 ELSE 0 END
                  AS updated_ms,
                CASE WHEN changed OR tied OR deleted OR restamped THEN '{name}'
                  ELSE {_AUTHORS}[1 + draw % 3] END AS author,
                CASE WHEN draw % 1000 = 7 THEN 'unseen' ELSE 'register' END AS origin,
                CASE WHEN draw % 5000 = 3 THEN 'first-contact' END AS hold,
                author || '~1' AS by,
                '{{"' || author || '~1":' || updated_ms || '}}' AS seen,
                CASE WHEN NOT deleted THEN updated_ms END AS modified_ms,
                CASE WHEN NOT deleted THEN (draw % 1000000)::VARCHAR END AS revision,
                encode(text) AS value
              FROM held
            ) TO '{target}' (FORMAT parquet, ROW_GROUP_SIZE 100000)
            """
        )
