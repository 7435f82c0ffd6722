"""Read the configuration of a repository, and survey a repository to write its first configuration."""
