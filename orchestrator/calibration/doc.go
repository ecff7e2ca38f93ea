// Package calibration turns scores of models into numbers that a person can read: the logit of a ranker into the
// probability that the passage is relevant, and the cosine of two texts into its place among those of unrelated texts.
//
// Terms:
//   - pair: the logit of a query and a passage, with the judgement whether the passage is relevant.
//   - calibrated: of the pairs with a score near p, the share p is relevant.
//   - expected calibration error: the mean difference between score and share of relevant pairs, over bins of pairs
//     with similar scores (Naeini et al. 2015, Obtaining well calibrated probabilities using Bayesian binning).
package calibration
