"""The scheduler core: a deterministic state machine, facts in, actions out."""
