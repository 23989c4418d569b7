"""Replication: one region's replica between its store, its sidecar database and the bus; the whole loop, call by call.

The :class:`~syncer.replication.driver.Driver` does no IO but the sidecar database, reads no clock and starts no task.
Who runs it (:mod:`syncer.replication.runtime`, or the simulator) moves what store and bus say into it, and what it
gives out away from it. Every call is one step, taken by one thread at a time. What it stores, it stores in transactions
that are whole; a step that fails with ``StateUnavailable`` is taken again.

    what happens            the call                    durable before it is sent          what answers it
    ----------------------  --------------------------  ---------------------------------  ----------------------------
    to become the writer    raise_fence ─▶ a write      the mark that the fence will hold  activated; refused: read the
                                                                                           fence and raise it again
    the watch is armed      armed ─▶ a scan             that a scan begins                 issue_page ─▶ take_page, …
                                                                                           end_scan ─▶ scan_complete
    the store gives notice  noticed                     nothing: it causes a read          (False: gap, then armed)
    the watch had a gap     gap                         nothing: decisions wait            armed, and all is read
    paths are to be read    plan_reads ─▶ paths, and    nothing                            take_answers, or give_up
                            the fence after them
    a local change          take_answers stamps it      register and outbox row, at once   outbox
    events for the bus      outbox ─▶ events            that outbox row                    published, or unsendable
    messages arrive         prefetch ─▶ paths           nothing                            consume, or give_up_prefetch
                            consume                     what was folded; only then is the  the delivery is acknowledged
                                                        delivery acknowledged
    a change is to be       next_transaction ─▶ fence   each path's intent, which names    answered ─▶ landed; refused;
    written                 and writes, as one batch    the batch                          probe_lost ─▶ lost
    the database goes on    mark ─▶ the fence           the mark, one higher               marked, or
                                                                                           probe_rollback_counter
    a guard asks            questions ─▶ paths          nothing: it is asked again         answer_topics
    trees differ            compare ─▶ messages         nothing: each may be lost          consume, of what peers answer
    a database was lost     correspond ─▶ messages      nothing: each may be lost          consume, page by page
    time passes             tick, heartbeat, operate,   what they decide                   the peers' next heartbeats
                            repair, report, prune

What must hold between them:

* An event is on the bus only after its register and its outbox row are stored together; so after a crash it is
  published again, under the same number. A path whose event waits there is not written meanwhile.
* A batch is sent only after its intents are stored, carries the fence in front of it, and leaves its receipt in the
  fence. Receipts tell landed from lost after a crash; every write is conditional on what was read. What nobody can tell
  yet is named by the fence, its intents stay open, and what follows it goes on.
* A delivery is acknowledged only after what it says is folded, held or set aside, and that is stored.
* A local change is stamped only by a read that a later read of the fence has found to be ours.
* Memory takes over what a transaction has stored once it is committed, and not before:
  :class:`~syncer.replication.unit_of_work.Committed` is announced to those that
  :func:`~syncer.replication.assembly.assemble` lists. Everything in memory may be lost at any instant: scans,
  heartbeats and comparisons find it again.

The rooms, highest first; none imports from one above: ``runtime``, ``driver`` (``status``, ``assembly``), ``control``,
``inbound``, ``membership``, ``gc``, ``antientropy``, ``local``, ``recovery``, ``unit_of_work``; below them ``group``,
``quotas``, ``bisection``, ``core``, ``fence``, ``telemetry``. Each room's ``part.py`` names what its rules use.
"""
