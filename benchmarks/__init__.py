"""Side by side with the peers: `make bench` runs these; each asserts that results agree before it times anything."""
