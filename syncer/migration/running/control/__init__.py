"""The controller of a migration, from planned to closed: the only thing that is started from outside.

controller  takes one step after the other, follows operators, and records both
carrying    the steps
claiming    keeps other migrations away
surveying   both clusters read, for checks and for preparing
moving      a wave
watching    what is left at blue, and what is ill
tallying    what is stored and read at both clusters, for the report
verifying   whether anything stayed behind
undoing     what can be taken back, and taking it back
ending      what green gets at the end
rehearsing  all that would happen, with nothing set
calls       reads made again, and writes kept for the record
examining   how brokers are that do not answer
record      how far a migration is, kept
"""
