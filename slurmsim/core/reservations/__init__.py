"""Advance reservations: the book of them, which nodes they get, and which jobs may use what of them.

From outside: `book.Reservations`. Mirrors reservation.c.
"""
