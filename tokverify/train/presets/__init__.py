"""Train and run two project-specific tokenizers: the C++ hybrid and SheepOp."""
