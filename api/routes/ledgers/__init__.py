"""``/api/v1/clusters/{cluster}/…`` about ledgers: questions that are answered now, and audits that were kept."""
