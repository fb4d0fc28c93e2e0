"""What a person looks at: the state of everything, and the logs of servers."""
