"""Who may use how much: usage of associations and QOS and its decay, fair shares, limits and their reasons.

From outside: `limits.Limits` (may this job be submitted, may it start), `accounts.Accounts` (who is who),
`usage_decay.UsageBook`. Mirrors assoc_mgr.c, acct_policy.c and priority_multifactor.c.
"""
