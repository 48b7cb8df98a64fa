"""A cluster's past on disk: journal, snapshots, configurations; how it is taken up again, and by which version."""
