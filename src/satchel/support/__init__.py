"""Small tools that know no stage: files, JSON of others, waiting."""
