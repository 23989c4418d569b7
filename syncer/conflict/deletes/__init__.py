"""Local deletes that are no operator's: which of them wait for a person before they leave the region."""
