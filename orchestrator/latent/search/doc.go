// Package search looks in the latent space of a molecule model for molecules with a better score than a given one. It
// knows neither HTTP nor Triton: a [Model] encodes and decodes, an [Objective] scores.
//
//	found, err := search.Search{Model: m, Goal: goal, Seeds: seeds, Random: random, Molecules: 10, Particles: 30,
//		Iterations: 10}.Optimize(ctx)
//
// A guided search ([Search.Optimize], optimizer.go) runs in generations (generation.go):
//
//  1. CMA-ES draws a tenth of the points. The others are offspring of the best molecules so far (population.go): the
//     results of mutation and crossover operators (operators.go, reproduction.go). An operator that has earned more
//     rewards is chosen more often. For a child that is an edit, several edits are made, and a surrogate of the
//     objective chooses one (edits.go, surrogate.go). If scores are costly, there are more edits, and edits of edits.
//  2. All points are decoded. Every new text is read as a molecule and scored (evaluator.go). Molecules that meet the
//     constraint on similarity enter the hall of fame (goal.go), which the results are taken from.
//  3. The best molecules become parents, and a new best one is injected into CMA-ES. CMA-ES receives the values of its
//     points, and restarts at an elite molecule if it has found nothing better for a while.
//
// If there are fewer results than requested, the last iterations look for more, and a few evaluations after them
// (fill.go).
//
// An unguided search ([Search.Around], around.go; [Sampling], sampling.go) draws points around its seeds, along random
// directions (sampler.go), and fills what is missing with edits of the seed's graph (editor.go).
//
// Searches return their results best first and distinct. With an error, such as the end of the context, they return the
// results so far. A search computes on one core at a time (package cores) and gives it up while it waits for a model,
// an objective's oracle or a watcher. Text means decoded text, which need not be a SMILES.
//
// The design and its measurements: orchestrator/decisions/0009-latent-search.md and 0015-graph-edits.md.
//
// Terms:
//   - hidden state: a point of the latent space, the code of a molecule.
//   - seed: a molecule to start from. Similarity is Tanimoto similarity to the most similar seed, from 0 to 1: Morgan
//     fingerprints of radius 2, 2048 bits.
//   - warm start: a molecule to start from that is no seed, such as a result of an earlier search.
//   - known molecule: one whose score was computed before this search.
//   - score: the value of the objective.
//   - merit: the score in units of the objective, higher being better, less the penalty of the filter.
//   - fitness: the merit, less a penalty for missing similarity.
//   - elite: the first few molecules of the hall of fame.
//   - parent: one of the fittest molecules so far; they form the population. Offspring are made from parents.
//   - source: what an operator makes the hidden state of a child from: a parent's hidden state, text or graph.
//   - edit: a molecule made from another by a small change of its graph.
//   - fresh text: a decoded text that the search has not seen before.
//   - fill: to look for more molecules instead of better ones.
package search
