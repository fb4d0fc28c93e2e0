"""Skills brought in from elsewhere: archives, folders, repositories; scanned, written as a whole, removed."""
