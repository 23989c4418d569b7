"""Global topic policies that brokers keep in system topics, presented as entries of the region's metadata store.

    broker ──▶ T/NS/__change_events ──▶ fold (pure) ──▶ entries at /admin/topic-policies/global/… ──▶ the same core
    core ──▶ fence + record in the store ──▶ message ──▶ read on, judged by the fold ──▶ fence with the receipt

The topic has no compare-and-set. Every message of ours says what it was decided on; whoever reads the topic judges by
that whether it counts, and what a void one overwrote is put back by the next (:mod:`.log`).
"""
