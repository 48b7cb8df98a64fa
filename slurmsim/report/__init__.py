"""Pictures and pages made from a trace. Nothing heavy is imported before something is drawn."""
