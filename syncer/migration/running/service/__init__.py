"""The service of a daemon that carries out migrations, and that operators speak to.

service      while the daemon is active: the migration that is open is carried, and what was asked is answered
answering    each kind of request
standing     how the migration is, for the daemon's report
clusters     the two clusters of a plan, as the daemon's configuration has them
"""
