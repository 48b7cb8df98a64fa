"""The trace a run leaves behind: schema, writer, reader. Import the modules; nothing is loaded here."""
