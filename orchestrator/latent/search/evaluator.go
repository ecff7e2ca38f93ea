package search

import (
	"context"
	"math"
	"slices"

	"retort/chem"
)

// maxKnownTexts bounds the memory of one search, at about 200 bytes a text. A search that has seen more texts forgets
// them all.
const maxKnownTexts = 1 << 17

// evaluator reads texts as molecules and scores them, each text once.
type evaluator struct {
	goal     Goal
	seeds    []Seed
	onScored func(*Molecule) // called once for each molecule with a score that passes the filter; nil for no calls

	surrogate *surrogate // learns from every molecule with a score; nil in an unguided search

	lateScores bool                // Search.LateScores; false while the known molecules are scored
	failed     []failure           // the molecules without a score, if there may be late scores
	spellings  map[string][]string // texts of the failed molecules, by canonical SMILES
	late       []*Molecule         // with a late score, since the last takeLate

	known       map[string]*Molecule        // by text; nil for no molecule, or one that is not admitted or has no score
	recent      map[string]chem.Fingerprint // by SMILES: the molecules scored in the last call of evaluate
	scored      map[string]*Molecule        // by canonical SMILES, which several texts may share; nil for no score
	evaluations int                         // distinct texts evaluated so far, molecules or not
}

// failure is a molecule without a score.
type failure struct {
	molecule *chem.Molecule
	excess   float64
}

func newEvaluator(goal Goal, seeds []Seed, onScored func(*Molecule)) *evaluator {
	return &evaluator{
		goal:      goal,
		seeds:     seeds,
		onScored:  onScored,
		spellings: map[string][]string{},
		known:     map[string]*Molecule{},
		scored:    map[string]*Molecule{},
	}
}

// evaluate returns a molecule for each text, nil if the text is not a molecule with a score, and whether the text is
// fresh. With an error it still returns the molecules scored so far; the other texts stay fresh.
func (e *evaluator) evaluate(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	if len(e.known) > maxKnownTexts {
		clear(e.known)
		clear(e.scored)
		clear(e.spellings)
		for _, f := range e.failed {
			e.scored[f.molecule.SMILES()] = nil
		}
	}
	var unknown []string
	fresh = make([]bool, len(texts))
	inBatch := map[string]bool{}
	for i, text := range texts {
		if _, ok := e.known[text]; !ok && !inBatch[text] {
			inBatch[text] = true
			unknown = append(unknown, text)
			fresh[i] = true
		}
	}
	before := len(e.known)
	e.recent = map[string]chem.Fingerprint{}
	err = e.score(ctx, unknown)
	e.evaluations += len(e.known) - before
	molecules = make([]*Molecule, len(texts))
	for i, text := range texts {
		molecules[i] = e.known[text]
	}
	return molecules, fresh, err
}

// score adds texts and their molecules to known. It scores each molecule once. If the objective fails, it adds only the
// texts of the molecules that have a score.
func (e *evaluator) score(ctx context.Context, texts []string) error {
	results, err := chem.Evaluate(ctx, texts, e.goal.facts()|chem.FactFingerprint)
	if err != nil {
		return err
	}
	var molecules []*chem.Molecule
	smiles := make([]string, len(texts)) // canonical; "" for a text that is not a molecule or not admitted
	inBatch := map[string]bool{}
	for i, r := range results {
		if r.Err != nil || !admits(e.seeds, r.Molecule) {
			continue
		}
		smiles[i] = r.Molecule.SMILES()
		if _, ok := e.scored[smiles[i]]; !ok && !inBatch[smiles[i]] {
			inBatch[smiles[i]] = true
			molecules = append(molecules, r.Molecule)
		}
	}
	excess := make([]float64, len(molecules))
	if e.goal.Filter != nil {
		if excess, err = e.goal.Filter.Excess(ctx, molecules); err != nil {
			return err
		}
	}
	failed := e.failed
	e.failed = nil
	for _, f := range failed {
		molecules = append(molecules, f.molecule)
		excess = append(excess, f.excess)
	}
	scores, err := e.goal.Objective.Score(ctx, molecules)
	for i, score := range scores {
		e.addScore(molecules[i], score, excess[i], err)
	}
	for _, f := range failed {
		if m := e.scored[f.molecule.SMILES()]; m != nil {
			for _, text := range e.spellings[m.SMILES] {
				e.known[text] = m
			}
			delete(e.spellings, m.SMILES)
			e.late = append(e.late, m)
		}
	}
	for i, text := range texts {
		if m, ok := e.scored[smiles[i]]; ok || smiles[i] == "" {
			e.known[text] = m
			if e.lateScores && ok && m == nil {
				e.spellings[smiles[i]] = append(e.spellings[smiles[i]], text)
			}
		}
	}
	return err
}

// addScore adds a molecule to scored. After an error of the objective, a molecule without a score is not added, since
// it may get one the next time.
func (e *evaluator) addScore(molecule *chem.Molecule, score, excess float64, err error) {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		if err == nil {
			e.scored[molecule.SMILES()] = nil
			if e.lateScores {
				e.failed = append(e.failed, failure{molecule, excess})
			}
		}
		return
	}
	m := &Molecule{
		SMILES: molecule.SMILES(), Score: score, Similarity: similarity(e.seeds, molecule), Excess: excess,
	}
	e.scored[m.SMILES] = m
	fingerprint := molecule.Fingerprint()
	e.recent[m.SMILES] = fingerprint
	if e.surrogate != nil {
		e.surrogate.learn(featuresOf(m.SMILES, &fingerprint), e.goal.merit(m))
	}
	if e.onScored != nil && m.Excess == 0 {
		e.onScored(m)
	}
}

// takeLate returns the molecules that have received a late score since the last call.
func (e *evaluator) takeLate() []*Molecule {
	late := e.late
	e.late = nil
	return late
}

// knows reports whether a text has been evaluated, or its molecule in another spelling.
func (e *evaluator) knows(text string) bool {
	_, known := e.known[text]
	_, scored := e.scored[text]
	return known || scored
}

// similarity returns the similarity of a molecule to the most similar seed, or 0 without seeds.
func similarity(seeds []Seed, m *chem.Molecule) (highest float64) {
	fingerprint := m.Fingerprint()
	for i := range seeds {
		highest = max(highest, fingerprint.Tanimoto(&seeds[i].Fingerprint))
	}
	return highest
}

// admits reports whether one of the seeds admits a molecule. Without seeds, it decides as for a seed of ordinary atoms.
func admits(seeds []Seed, m *chem.Molecule) bool {
	if len(seeds) == 0 {
		return (&Seed{}).admits(m)
	}
	return slices.ContainsFunc(seeds, func(s Seed) bool { return s.admits(m) })
}
