"""What several commands read and print alike: options, dates, durations, states, tables, messages."""
