"""Published files of word vectors: read, converted once, memory-mapped. `lib.embedders.static` is the entry."""
