package search

import (
	"context"
	"math"

	"retort/chem"
)

// maxKnownTexts bounds the memory of one search, at about 200 bytes a text. A search that has seen more forgets them
// all, and evaluates again what it decodes again.
const maxKnownTexts = 1 << 17

// evaluator turns decoded texts into molecules with a score and the similarity to the most similar seed. It evaluates each text
// once.
type evaluator struct {
	goal  Goal
	seeds []Seed
	told  func(*Molecule) // of each molecule that has a score; nil for no one
	// surrogate learns from every molecule that has a score; nil for none.
	surrogate *surrogate
	known     map[string]*Molecule // by text; nil for a text that is no molecule, is not admitted or has no score
	// scored are the molecules that were scored, by canonical SMILES, which several texts may have; nil for no score.
	scored map[string]*Molecule

	// evaluations counts the distinct texts evaluated so far, molecules or not.
	evaluations int
}

func newEvaluator(goal Goal, seeds []Seed, told func(*Molecule)) *evaluator {
	return &evaluator{goal: goal, seeds: seeds, told: told, known: map[string]*Molecule{}, scored: map[string]*Molecule{}}
}

// evaluate returns a molecule for each text, nil if the text is no molecule or has no score, and whether the text is new.
// With an error it still returns the molecules scored so far; the other texts count as new when they come again.
func (e *evaluator) evaluate(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	if len(e.known) > maxKnownTexts {
		clear(e.known)
		clear(e.scored)
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
	err = e.score(ctx, unknown)
	for _, text := range unknown {
		if _, ok := e.known[text]; ok {
			e.evaluations++
		}
	}
	molecules = make([]*Molecule, len(texts))
	for i, text := range texts {
		molecules[i] = e.known[text]
	}
	return molecules, fresh, err
}

// score adds texts and their molecules to known; each molecule is scored once. If the objective fails, the molecules that
// it has scored stay and the texts of the others are removed.
func (e *evaluator) score(ctx context.Context, texts []string) error {
	results, err := chem.Evaluate(ctx, texts, chem.Options{Facts: e.goal.Objective.Facts() | chem.FactFingerprint})
	if err != nil {
		for _, text := range texts {
			delete(e.known, text)
		}
		return err
	}
	var molecules []*chem.Molecule
	admitted := make([]string, len(texts)) // canonical SMILES; "" for a text that is no molecule or is not admitted
	for i, r := range results {
		if r.Err != nil || !admits(e.seeds, r.Molecule) {
			continue
		}
		admitted[i] = r.Molecule.SMILES()
		if _, ok := e.scored[r.Molecule.SMILES()]; !ok {
			e.scored[r.Molecule.SMILES()] = nil
			molecules = append(molecules, r.Molecule)
		}
	}
	scores, err := e.goal.Objective.Score(ctx, molecules)
	for i, molecule := range molecules[:len(scores)] {
		if math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) {
			continue
		}
		m := &Molecule{SMILES: molecule.SMILES(), Score: scores[i], Similarity: similarity(e.seeds, molecule)}
		e.scored[m.SMILES] = m
		if e.surrogate != nil {
			fingerprint := molecule.Fingerprint()
			e.surrogate.learn(featuresOf(m.SMILES, &fingerprint), e.goal.fitness(m))
		}
		if e.told != nil {
			e.told(m)
		}
	}
	if err != nil {
		for _, molecule := range molecules {
			if e.scored[molecule.SMILES()] == nil {
				delete(e.scored, molecule.SMILES())
			}
		}
	}
	for i, smiles := range admitted {
		if smiles == "" {
			continue
		}
		if m, ok := e.scored[smiles]; ok {
			e.known[texts[i]] = m
		} else {
			delete(e.known, texts[i])
		}
	}
	return err
}

// knows reports whether a text has been evaluated, or its molecule in another spelling.
func (e *evaluator) knows(text string) bool {
	_, known := e.known[text]
	_, scored := e.scored[text]
	return known || scored
}

// similarity is that to the most similar seed, 0 without any.
func similarity(seeds []Seed, m *chem.Molecule) (most float64) {
	fingerprint := m.Fingerprint()
	for i := range seeds {
		most = max(most, fingerprint.Tanimoto(&seeds[i].Fingerprint))
	}
	return most
}

// admits reports whether one of the seeds admits a molecule. Without any it is what an ordinary molecule would admit.
func admits(seeds []Seed, m *chem.Molecule) bool {
	if len(seeds) == 0 {
		return (&Seed{}).admits(m)
	}
	for i := range seeds {
		if seeds[i].admits(m) {
			return true
		}
	}
	return false
}
