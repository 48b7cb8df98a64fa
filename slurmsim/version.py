"""Which slurmsim this is: raised with every release, and with every change of a rule between two of them.

Journals say who decided what is in them: a restart by the same version compares, by another one follows.
"""

__version__ = "0.6.0"
