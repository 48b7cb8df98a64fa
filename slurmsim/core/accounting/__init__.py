"""Who may use how much: associations and QOS, billing, usage and its decay, limits and their reasons.

From outside: `limits.Limits` (may this job be submitted, may it start), `accounts.Accounts` (who is who),
`billing.Billing`, `usage_decay.UsageBook`. Mirrors assoc_mgr.c, acct_policy.c and priority_multifactor.c.
"""
