"""sacctmgr: words of a command (`words`), a module a verb, tables of what there is (`show`, `table`, `fields`)."""
