"""Models of workloads, each written from its paper; `slurmsim_workloads.generators` lists them (docs/generators.md)."""
