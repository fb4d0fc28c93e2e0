"""What agents remember: files that people, programs and models read and write."""
