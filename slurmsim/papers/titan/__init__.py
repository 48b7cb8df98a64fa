"""Titan: using up an allocation, and its queue (docs/systems/titan.md)."""
