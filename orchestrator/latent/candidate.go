package latent

import (
	"context"
	"math"

	"retort/chem"
)

// seed is a molecule that a request starts from.
type seed struct {
	smiles string // canonical
	print  chem.Fingerprint
	ids    []int32
	hidden []float32
}

// candidate is a decoded molecule.
type candidate struct {
	smiles     string // canonical
	score      float64
	similarity float64
	print      chem.Fingerprint
}

// mostKnown bounds the memory of a run: what is decoded after so many texts is
// evaluated each time.
const mostKnown = 1 << 17

// jury evaluates decoded texts for one seed, each text once. Its zero value
// but for the first two fields is ready to use.
type jury struct {
	goal  *goal
	seed  seed
	known map[string]*candidate // by text; nil for one that is no molecule

	// evaluations counts the distinct texts evaluated so far, molecules or not.
	evaluations int
}

// judge returns a candidate per text, nil where the text is no molecule or has
// no score, and whether it is the first time that the text is seen.
func (j *jury) judge(ctx context.Context, texts []string) ([]*candidate, []bool, error) {
	if j.known == nil || len(j.known) > mostKnown {
		j.known = map[string]*candidate{}
	}
	var fresh []string
	first := make([]bool, len(texts))
	for i, text := range texts {
		if _, ok := j.known[text]; !ok {
			j.known[text] = nil
			fresh = append(fresh, text)
			first[i] = true
		}
	}
	if err := j.evaluate(ctx, fresh); err != nil {
		return nil, nil, err
	}
	j.evaluations += len(fresh)
	out := make([]*candidate, len(texts))
	for i, text := range texts {
		out[i] = j.known[text]
	}
	return out, first, nil
}

func (j *jury) evaluate(ctx context.Context, texts []string) error {
	results, err := chem.Evaluate(ctx, texts, chem.Options{Facts: j.goal.facts})
	if err != nil {
		return err
	}
	var valid []int
	var molecules []*chem.Molecule
	for i, r := range results {
		if r.Err == nil {
			valid, molecules = append(valid, i), append(molecules, r.Molecule)
		}
	}
	scores, err := j.goal.score(ctx, molecules)
	if err != nil {
		return err
	}
	for k, i := range valid {
		if math.IsNaN(scores[k]) || math.IsInf(scores[k], 0) {
			continue
		}
		print := molecules[k].Fingerprint()
		j.known[texts[i]] = &candidate{smiles: molecules[k].SMILES(), score: scores[k], similarity: print.Tanimoto(&j.seed.print), print: print}
	}
	return nil
}

// podium keeps the best distinct candidates that meet the constraint, best first.
type podium struct {
	goal *goal
	most int
	best []*candidate
}

// add takes a candidate in, unless it is worse than all kept or one of them. It
// reports whether it is the new best.
func (p *podium) add(c *candidate) bool {
	at := len(p.best)
	for i := len(p.best) - 1; i >= 0; i-- {
		if p.best[i].smiles == c.smiles {
			return false
		}
		if p.goal.better(c.score, p.best[i].score) {
			at = i
		}
	}
	if at == p.most {
		return false
	}
	if len(p.best) == p.most {
		p.best = p.best[:p.most-1]
	}
	p.best = append(p.best, nil)
	copy(p.best[at+1:], p.best[at:])
	p.best[at] = c
	return at == 0
}
