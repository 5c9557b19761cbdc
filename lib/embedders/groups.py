"""Groups of embedders under one name, so that studies can speak of the same ones."""

from __future__ import annotations

from collections.abc import Sequence

GROUPS = {
    # one embedder for each idea, of what installs with pip or is trained on the text at hand
    "installed": (
        "tfidf", "bow", "glove-6b-50d", "glove-6b-50d+sif", "glove-6b-50d+usif", "glove-6b-50d+random-lstm-128d",
        "wordllama", "minilm-cls", "minilm-avg", "use-multilingual-q8", "w2v-corpus", "fasttext-corpus",
        "fasttext-corpus-sub", "sent2vec-corpus-uni", "sent2vec-corpus-bi", "pv-dbow-corpus",
    ),
    # some of every family, quick to compute, to try things out
    "sampler": (
        "tfidf", "lsa-corpus-50d", "wordllama", "minilm-cls", "minilm-avg", "use-multilingual-q8", "glove-6b-50d",
        "glove-6b-50d+usif", "glove-6b-50d+power-means", "w2v-corpus", "w2v-corpus+sif", "fasttext-corpus",
        "fasttext-corpus-sub",
    ),
    # what the Sent2Vec paper compares with, and its own pretrained models
    "sent2vec-study": (
        "tfidf", "w2v-corpus", "w2v-corpus-cbow", "w2v-corpus+sif", "pv-dbow-corpus", "glove-6b-50d",
        "glove-6b-50d+sif", "glove-840b-300d+sif", "paragram-sl999+sif", "sent2vec-wiki-unigrams",
        "sent2vec-wiki-bigrams", "sent2vec-toronto-unigrams", "sent2vec-toronto-bigrams", "sent2vec-twitter-unigrams",
        "sent2vec-twitter-bigrams",
    ),
    # the models of the semantic localization paper's Table 1 in its order, each beside what stands in for it here
    "localization-study": (
        "pv-dm-corpus-converged", "pv-dbow-corpus-converged", "urae", "urae-corpus", "urae-corpus-balanced",
        "w2v", "w2v-corpus", "glove-6b-50d", "w2v+sowe", "w2v-corpus+sowe", "glove-6b-50d+sowe", "bow",
    ),
    # the N2O paper's Table 1
    "table-1": (
        "tfidf", "w2v", "glove-6b-100d", "glove-6b-300d", "glove-840b-300d", "fasttext-cc", "fasttext-wiki",
        "fasttext-cc-sub", "fasttext-wiki-sub", "elmo-small", "elmo-orig", "elmo-orig-5.5b", "bert-base-cls",
        "bert-base-avg", "bert-ft-cls", "bert-ft-avg", "gpt-last", "gpt-avg", "infersent-v1", "use-dan", "use-trf",
    ),
}  # fmt: skip


def expand(chosen: Sequence[str]) -> list[str]:
    """The names, with each group in the place of its name; a group does not repeat what stands before it."""
    names: list[str] = []
    for name in chosen:
        names += [member for member in GROUPS[name] if member not in names] if name in GROUPS else [name]
    return names
