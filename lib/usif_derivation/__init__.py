"""uSIF, derived and measured: what the notebook on "Unsupervised Random Walk Sentence Embeddings" asks of the paper.

=============  ========================================================================================
module         of the paper (Ethayarajh 2018)
=============  ========================================================================================
`confound`     section 3.2: worst cases of the log-linear model, and the same under the angular model
`likelihood`   section 3.3: the angular model, its gradient, its Taylor expansion, its exact maximum
`estimates`    section 3.3: how far equation (9) is from that maximum
`partition`    section 3.3: E[d] and Z, on the sphere and for real vectors
`odds`         section 3.3: alpha and a over n, over frequency lists and over the cut of the vocabulary
`results`      section 4: what embedders answer, with intervals, averages and differences
`variants`     section 4.3 and what the paper leaves open: ablation, sweeps, decisions
`supervised`   section 4.4: SST, SICK-R and SICK-E, where something is trained
`beside`       the paper's Tables 1 to 3 beside ours
`speed`        sentences per second
=============  ========================================================================================
"""
