"""What the daemon tells of jobs, nodes, partitions and reservations: tables of fields, each a function."""
