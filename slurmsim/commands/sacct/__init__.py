"""sacct: the condition the daemon is asked with (`options`), and a row a field (`fields`)."""
