// Package modelcalibrate calibrates a model on the Triton that serves it: retort model calibrate.
//
// For a ranker, [Ranking] fits the scale of its relevance scores to judged pairs. For an embedding model, [Embedding]
// measures the similarity of unrelated texts. Both return the parameters to write into the entry; package calibration
// has the mathematics.
//
// Terms:
//   - judged pair: a query and a passage, with the judgement whether the passage is relevant to the query.
//   - group: the pairs that are left out of a fit together, to measure it on pairs that it has not seen.
package modelcalibrate
