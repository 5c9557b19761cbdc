"""Side by side with the peers: `make bench` runs these.

Each asserts that results agree before it times anything.
"""
