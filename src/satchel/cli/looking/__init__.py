"""What a person looks at: state, findings, journal, logs."""
