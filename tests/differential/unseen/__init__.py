"""Unseen questions: seeded sessions of commands and workloads, asked of a real Slurm and of slurmsim alike.

- `clusters` draws a configuration; `tables` holds the weights of every verb and option; `scene` and `sessions` draw
  commands, `workloads` draws jobs;
- `oracle` asks a real Slurm, `ours` asks slurmsim; `score` compares and counts; `shorten` finds the shortest form of
  a difference;
- ``python -m unseen`` (in tests/differential) is all of it on a command line. docs/fidelity-figures.md says how to
  read it.
"""
