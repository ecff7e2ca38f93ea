package search

import (
	"context"
	"math"

	"retort/chem"
)

// maxKnownTexts bounds the memory of one search, at about 200 bytes a text. A search that has seen more forgets them
// all, and evaluates again what it decodes again.
const maxKnownTexts = 1 << 17

// evaluator turns decoded texts into molecules with a score and the similarity to the seed. It evaluates each text
// once.
type evaluator struct {
	goal  Goal
	seed  *Seed
	known map[string]*Molecule // by text; nil for a text that is no molecule, is not admitted or has no score

	// evaluations counts the distinct texts evaluated so far, molecules or not.
	evaluations int
}

func newEvaluator(goal Goal, seed *Seed) *evaluator {
	return &evaluator{goal: goal, seed: seed, known: map[string]*Molecule{}}
}

// evaluate returns a molecule per text, nil where the text is no molecule or has no score, and whether the text is
// there for the first time.
func (e *evaluator) evaluate(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	if len(e.known) > maxKnownTexts {
		clear(e.known)
	}
	var unknown []string
	fresh = make([]bool, len(texts))
	for i, text := range texts {
		if _, ok := e.known[text]; !ok {
			e.known[text] = nil
			unknown = append(unknown, text)
			fresh[i] = true
		}
	}
	if err := e.score(ctx, unknown); err != nil {
		return nil, nil, err
	}
	e.evaluations += len(unknown)
	molecules = make([]*Molecule, len(texts))
	for i, text := range texts {
		molecules[i] = e.known[text]
	}
	return molecules, fresh, nil
}

// score makes those of the texts known that are molecules with a score.
func (e *evaluator) score(ctx context.Context, texts []string) error {
	results, err := chem.Evaluate(ctx, texts, chem.Options{Facts: e.goal.Objective.Facts() | chem.FactFingerprint})
	if err != nil {
		return err
	}
	var valid []int
	var molecules []*chem.Molecule
	for i, r := range results {
		if r.Err == nil && e.seed.admits(r.Molecule) {
			valid = append(valid, i)
			molecules = append(molecules, r.Molecule)
		}
	}
	scores, err := e.goal.Objective.Score(ctx, molecules)
	if err != nil {
		return err
	}
	for k, i := range valid {
		if math.IsNaN(scores[k]) || math.IsInf(scores[k], 0) {
			continue
		}
		fingerprint := molecules[k].Fingerprint()
		e.known[texts[i]] = &Molecule{
			SMILES: molecules[k].SMILES(), Score: scores[k], Similarity: fingerprint.Tanimoto(&e.seed.Fingerprint),
		}
	}
	return nil
}
