"""Train and run the C++ hybrid tokenizer and the SheepOp tokenizer."""
