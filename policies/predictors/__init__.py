"""Predictors of run times: what users asked for, the oracle, the last two jobs of a user, jobs like this one."""
