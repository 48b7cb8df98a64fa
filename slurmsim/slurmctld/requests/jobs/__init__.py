"""Requests about jobs there are: updates, holds, cancels, and tables of recurring jobs."""
