"""One file a peer; each runs in an environment of its own."""
