"""Statistics: how many tokens a tokenizer makes of texts of many kinds, and how it deals with numbers and spaces."""
