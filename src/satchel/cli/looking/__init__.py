"""The commands for looking: state, findings, journal, logs."""
