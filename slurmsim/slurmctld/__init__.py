"""The daemon: one simulation network, paced by a clock, that answers the commands."""
