"""Anti-entropy: peers compare their digest trees (Merkle-like), and only what differs travels."""
