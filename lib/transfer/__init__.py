"""Transfer: what a classifier learns from frozen embeddings (SentEval's classification tasks, and any other).

"Pitfalls in the Evaluation of Sentence Embeddings", sections 2 and 3; "Unsupervised Learning of Sentence Embeddings
using Compositional n-Gram Features", section 4. Penalty, size and normalization are chosen inside the training data.
"""

from lib.transfer.classifiers import CLASSIFIERS, MLP, SVM, Classifier, Logistic, Setting
from lib.transfer.evaluation import OFFICIAL, Choice, Options, Result, cross_validate, on_task, train_test
from lib.transfer.folds import deal

__all__ = [
    "CLASSIFIERS",
    "MLP",
    "OFFICIAL",
    "SVM",
    "Choice",
    "Classifier",
    "Logistic",
    "Options",
    "Result",
    "Setting",
    "cross_validate",
    "deal",
    "on_task",
    "train_test",
]
