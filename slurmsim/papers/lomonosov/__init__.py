"""Lomonosov: CPU-hour limits of users on backfill (docs/systems/lomonosov.md)."""
