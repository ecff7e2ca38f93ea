package search

import (
	"cmp"
	"context"
	"slices"

	"retort/chem"
)

const (
	// fillShare is the share of the iterations at the end in which the search fills if results are missing.
	fillShare = 0.2
	// fillEvaluations is the upper bound of evaluations per result that is missing after all iterations, on average.
	fillEvaluations = 2
	// seedEdits is the number of edits of all seeds together; resultEdits is the number of edits of each result.
	seedEdits   = 512
	resultEdits = 96
	// fillRounds bounds the rounds, of which each also edits the results of the rounds before.
	fillRounds = 8
)

// filler is the state of filling.
type filler struct {
	edited       map[string]bool // molecules whose edits are among the candidates
	stereoEdited bool            // whether the candidates include stereoisomers
	candidates   []variant       // similar enough, the most similar first
}

// shouldFill reports whether an iteration fills.
func (o *optimizer) shouldFill(iteration int) bool {
	last := float64(iteration) > float64(o.Iterations)*(1-fillShare)
	return iteration > 1 && last && len(o.hallOfFame.best) < o.Molecules
}

// complete fills after the last iteration, and reports progress if it evaluated a text.
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

// fill evaluates edits of the seeds and of the results that meet the constraint, the most similar first. It ends when
// no result is missing, there are no more candidates, or it has made the given number of evaluations.
func (o *optimizer) fill(ctx context.Context, evaluations int) error {
	for range fillRounds {
		missing := o.Molecules - len(o.hallOfFame.best)
		if missing <= 0 || evaluations <= 0 {
			return nil
		}
		if err := o.extendCandidates(ctx, fillEvaluations*missing); err != nil {
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

// extendCandidates adds candidates up to the wanted number: edits of the seeds, then of the results. If there are none,
// it adds stereoisomers.
func (o *optimizer) extendCandidates(ctx context.Context, wanted int) error {
	f := &o.filler
	f.candidates = slices.DeleteFunc(f.candidates, func(v variant) bool { return !o.isCandidate(v) })
	var molecules []string // to edit
	for _, seed := range o.Seeds {
		molecules = append(molecules, seed.SMILES)
	}
	for _, m := range o.hallOfFame.best {
		molecules = append(molecules, m.SMILES)
	}
	if err := o.addEdits(ctx, molecules, wanted); err != nil {
		return err
	}
	if len(f.candidates) > 0 || f.stereoEdited {
		return nil
	}
	f.stereoEdited = true
	return o.addStereoisomers(ctx, molecules, wanted)
}

// addEdits adds edits of one molecule after the other, the seeds first, up to the wanted number of candidates.
func (o *optimizer) addEdits(ctx context.Context, molecules []string, wanted int) error {
	f := &o.filler
	for i, smiles := range molecules {
		if len(f.candidates) >= wanted {
			return nil
		}
		if f.edited[smiles] {
			continue
		}
		f.edited[smiles] = true
		count := resultEdits
		if i < len(o.Seeds) {
			count = max(resultEdits, seedEdits/len(o.Seeds))
		}
		if err := o.addCandidates(ctx, chem.Parents{First: smiles, Count: count, Seed: o.Random.Uint64()}); err != nil {
			return err
		}
	}
	return nil
}

// addStereoisomers adds stereoisomers of molecules, each up to count.
func (o *optimizer) addStereoisomers(ctx context.Context, molecules []string, count int) error {
	parents := make([]chem.Parents, len(molecules))
	for i, smiles := range molecules {
		parents[i] = chem.Parents{First: smiles, Stereo: true, Count: count, Seed: o.Random.Uint64()}
	}
	return o.addCandidates(ctx, parents...)
}

// addCandidates adds the edits of the parents that are candidates.
func (o *optimizer) addCandidates(ctx context.Context, parents ...chem.Parents) error {
	edits, err := o.editor.edit(ctx, parents)
	if err != nil {
		return err
	}
	f := &o.filler
	for _, variants := range edits {
		for _, v := range variants {
			isKnown := func(c variant) bool { return c.smiles == v.smiles }
			if o.isCandidate(v) && !slices.ContainsFunc(f.candidates, isKnown) {
				f.candidates = append(f.candidates, v)
			}
		}
	}
	slices.SortStableFunc(f.candidates, func(a, b variant) int { return cmp.Compare(b.similarity, a.similarity) })
	return nil
}
