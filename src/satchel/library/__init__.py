"""Packages of instructions and code that agents read: skills."""
