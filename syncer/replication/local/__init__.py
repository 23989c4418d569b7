"""The region's own store: observed and scanned, and written under the fence."""
