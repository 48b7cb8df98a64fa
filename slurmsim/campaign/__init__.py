"""Campaigns: many runs from one grid, each made once, and what may be concluded from them (docs/campaigns.md)."""
