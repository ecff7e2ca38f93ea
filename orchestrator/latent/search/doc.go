// Package search looks for molecules with a better score than a given one in the latent space of a molecule model. It
// knows neither HTTP nor Triton: a [Model] encodes and decodes, an [Objective] scores, and the rest is here.
//
//	found, err := search.Search{Model: m, Goal: goal, Seed: seed, Random: random, Molecules: 10, Particles: 30,
//		Iterations: 10}.Optimize(ctx)
//
// A guided search ([Search.Optimize], optimizer.go) runs in generations (generation.go):
//
//  1. CMA-ES is asked for a tenth of the points; the rest are offspring of the best molecules so far
//     (population.go), made by mutation and crossover operators (operators.go, reproduction.go), each chosen as often
//     as it has paid so far. A long search makes several
//     edits for a child and takes the one of which a model of the scores so far predicts the most (surrogate.go).
//  2. All points are decoded, and every text that is new is read as a molecule and scored (evaluator.go). Molecules
//     that meet the constraint on similarity enter the hall of fame (goal.go), from which the answer is taken.
//  3. The best molecules become parents, and a new best one is injected into CMA-ES. CMA-ES is told the values of the
//     points that it gave ([cmaes.Optimizer.Tell], called in generation.go), and restarts at an elite molecule when it has
//     found nothing better for a while.
//
// While fewer molecules have been found than were asked for, the last iterations look for more of them, and a few
// evaluations after them (fill.go).
//
// An unguided search ([Search.Around], [Sampling]; sampling.go) draws points around its seeds, along random directions
// (sampler.go), and fills what is missing with changes of the seed's graph (editor.go).
//
// Why the search is built like this, and what was measured: orchestrator/decisions/0009-latent-search.md and
// 0015-graph-edits.md.
//
// The words: a hidden state is a point of the latent space; a text is what the decoder writes for a point, which need
// not be a molecule; a score is what the objective gives, and the fitness of a molecule its score in the objective's
// unit with a penalty below the least similarity. The elite is the first few molecules of the hall of fame.
package search
