"""Recording: the history of a cluster's load in a file of its own, and the task of the daemon that writes it.

opening   the file: made, checked, set aside where it is damaged; errors in the words of this program
tables    its tables
writing   samples, changes of owner and outcomes into the file, within its bounds
reading   what commands take from it while it is written
moves     outcomes of the runs of moves that are over
recorder  looks at one cluster at an interval, and records what it sees
service   recorders of all clusters, and how each fares
"""
