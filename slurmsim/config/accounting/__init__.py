"""Readers of accounting data: sacctmgr's dumps, tables and commands, and a TOML file."""
