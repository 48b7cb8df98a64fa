"""Dispatchers that optimise: EURORA 2014's six models, PCP'19, HCP'19, PCP'20, and a formulation of our own.

Read in this order:

- `problem`, `plain`: one dispatching problem as immutable data, and its form in JSON and TOML;
- `plan`, `criteria`: what a dispatcher answers, and how it is valued (the judge of plans is in the tests);
- `boards`, `box_board`, `listing`: when (an order) and where (an allocator), without a solver: a complete first plan;
- `models`: the constraint models, one file each, one method a constraint;
- `search`, `task`, `dispatchers`, `solve`: solver calls, the stages of each dispatcher, the door for everybody else;
- `policy`: the classes the entry points name.

OR-Tools is loaded by `models` and `search` alone, when a model is built (extra ``cp``). Nothing here reads a clock: who
wants seconds hands one in. docs/systems/eurora.md says what the papers claim and what is corrected.
"""
