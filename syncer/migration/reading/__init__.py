"""Reading a cluster by its admin REST API: the evidence that a migration decides by.

preflight   plans made of what was read, and every check made
pair        both clusters, and which of them an error is of
cluster     brokers, clusters, mark, settings, tenants, and the namespaces asked for
namespaces  a namespace: policies, mark, partitions, topics, schemas, policies of topics
topics      one topic, loaded or not
forms       the JSON of each answer, made evidence
answers     an answer taken apart, field by field
at_once     many calls, a few of them at once
addresses   whether somebody takes connections where clients will be sent to
plan_file   plans kept in files
"""
