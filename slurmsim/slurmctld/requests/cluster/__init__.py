"""What administrators change: nodes, partitions, reservations, associations."""
