"""Study 7: what misleads when sentence embeddings are evaluated, a subject a file.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019). The measures themselves are in
`lib.similarity` and `lib.transfer`.
"""
