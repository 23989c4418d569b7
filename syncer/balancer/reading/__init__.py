"""Reading a cluster's load: the shell around the pure decoding, from whatever source answers.

cluster   the picture of a cluster, of all its sources
stores    by scan of its metadata store and of its configuration store
brokers   by its brokers' admin REST API: settings, topics, and all else where no store is read
listener  the topics of the extensible manager, heard from early on
"""
