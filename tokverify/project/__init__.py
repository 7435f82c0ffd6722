"""Read the configuration of a repository, and write a first one."""
