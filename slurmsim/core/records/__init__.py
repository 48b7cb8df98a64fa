"""What there is: jobs, nodes, partitions, reservations, associations, facts, actions, timers.

Records and the tables that hold them, without a rule of scheduling. Everybody may read them; who may change what is
said by the class: a job's state changes by `Job.move` alone, the node table by `allocate` and `release`.
"""
