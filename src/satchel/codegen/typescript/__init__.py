"""One server as a folder of TypeScript modules."""
