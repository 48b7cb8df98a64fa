"""scontrol: a module a verb or a kind of thing; layouts of what it shows end in ``_text``."""
