"""What is known of the fields of a record: one row a field, from which the lists of all other rooms are derived.

Each module is one noun. A row names things and holds no behaviour: what a kind of value means to a room (how scontrol
reads it, which shape it has on the wire, how it is told) stands once in that room, by the name of the kind.
"""
