package search

import (
	"cmp"
	"context"
	"slices"

	"retort/chem"
)

const (
	// fillShare is the share of the iterations, at the end, that look for more molecules instead of better ones, as long
	// as fewer have been found than were asked for.
	fillShare = 0.2
	// fillEvaluations is how many evaluations a molecule that is missing after all iterations may cost, on average.
	fillEvaluations = 2
	// seedEdits and foundEdits are how many edits are made of the seeds and of a molecule that was found, to fill.
	seedEdits  = 512
	foundEdits = 96
	// fillRounds bounds how often what was found is edited in turn.
	fillRounds = 8
)

// filler is the state of the search for more molecules in place of better ones.
type filler struct {
	edited     map[string]bool // molecules whose edits are among the candidates
	turned     bool            // configurations have been changed as well
	candidates []variant       // similar enough; the most similar ones first
}

// fills reports whether an iteration looks for more molecules.
func (o *optimizer) fills(iteration int) bool {
	last := float64(iteration) > float64(o.Iterations)*(1-fillShare)
	return iteration > 1 && last && len(o.hallOfFame.best) < o.Molecules
}

// complete goes on after the last iteration while molecules are missing, and tells the watcher if it evaluated any.
func (o *optimizer) complete(ctx context.Context) error {
	before := o.evaluator.evaluations
	if err := o.fill(ctx, fillEvaluations*(o.Molecules-len(o.hallOfFame.best))); err != nil {
		return err
	}
	if o.evaluator.evaluations == before {
		return nil
	}
	return o.report(ctx, o.Iterations, o.evaluator.evaluations, o.results())
}

// fill looks for molecules that meet the constraint among the edits of the seed and of what was found, the most similar
// first, with a number of evaluations at most. It ends when as many have been found as were asked for, or there are no
// more.
func (o *optimizer) fill(ctx context.Context, evaluations int) error {
	for range fillRounds {
		missing := o.Molecules - len(o.hallOfFame.best)
		if missing <= 0 || evaluations <= 0 {
			return nil
		}
		if err := o.extend(ctx, fillEvaluations*missing); err != nil {
			return err
		}
		var texts []string
		for _, v := range o.filler.candidates {
			if len(texts) < min(missing, evaluations) && o.isCandidate(v) {
				texts = append(texts, v.smiles)
			}
		}
		if len(texts) == 0 {
			return nil
		}
		if _, _, err := o.scoreTexts(ctx, texts); err != nil {
			return err
		}
		evaluations -= len(texts)
	}
	return nil
}

// extend makes more candidates while fewer than wanted are new: edits of the seed, then of the molecules found, and at
// last molecules that differ in their configuration alone.
func (o *optimizer) extend(ctx context.Context, wanted int) error {
	f := &o.filler
	f.candidates = slices.DeleteFunc(f.candidates, func(v variant) bool { return !o.isCandidate(v) })
	if f.edited == nil {
		f.edited = map[string]bool{}
	}
	var centres []string
	for _, seed := range o.Seeds {
		centres = append(centres, seed.SMILES)
	}
	for _, m := range o.hallOfFame.best {
		centres = append(centres, m.SMILES)
	}
	for i, smiles := range centres {
		if len(f.candidates) >= wanted {
			return nil
		}
		if f.edited[smiles] {
			continue
		}
		f.edited[smiles] = true
		count := foundEdits
		if i < len(o.Seeds) {
			count = max(foundEdits, seedEdits/len(o.Seeds))
		}
		if err := o.candidates(ctx, chem.Parents{First: smiles, Count: count, Seed: o.Random.Uint64()}); err != nil {
			return err
		}
	}
	if len(f.candidates) > 0 || f.turned {
		return nil
	}
	f.turned = true
	turned := make([]chem.Parents, len(centres))
	for i, smiles := range centres {
		turned[i] = chem.Parents{First: smiles, Stereo: true, Count: wanted, Seed: o.Random.Uint64()}
	}
	return o.candidates(ctx, turned...)
}

// candidates adds those variants of the parents that are wanted.
func (o *optimizer) candidates(ctx context.Context, parents ...chem.Parents) error {
	made, err := o.editor.make(ctx, parents)
	if err != nil {
		return err
	}
	f := &o.filler
	for _, variants := range made {
		for _, v := range variants {
			if o.isCandidate(v) && !slices.ContainsFunc(f.candidates, func(c variant) bool { return c.smiles == v.smiles }) {
				f.candidates = append(f.candidates, v)
			}
		}
	}
	slices.SortStableFunc(f.candidates, func(a, b variant) int { return cmp.Compare(b.similarity, a.similarity) })
	return nil
}
