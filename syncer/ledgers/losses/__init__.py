"""Losses: the price of bookies that die, leave, or are stopped.

copysets      sets of bookies whose loss harms some ledger, of a whole cluster
odds          probability of harm by k random failures
tally         ledgers harmed by each set of k bookies, and the worst sets
impact        ledgers and topics harmed by one given set
decommission  what must move when bookies leave, and what would block it for ever
opening       whether brokers can open new ledgers on the bookies that are left
"""
