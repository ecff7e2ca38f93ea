package masked

import (
	"context"

	"retort/chem"
	"retort/orchestrator/fault"
)

// readStarts reads and scores the molecules that the rounds start from. One that is no molecule is Invalid; one without
// a given fragment, or without a score, is left out. Beside another error stay those that were scored before.
func (g *generation) readStarts(ctx context.Context) error {
	results, err := chem.Evaluate(ctx, g.request.Smi, chem.Options{Facts: g.facts})
	if err != nil {
		return err
	}
	var problems fault.Problems
	problems.AddEach(len(results), func(i int) *fault.Error {
		if err := results[i].Err; err != nil {
			return fault.Field("value_error", fault.Clip(g.request.Smi[i]), []any{"smi", i}, "not a valid SMILES: %v", err)
		}
		return nil
	})
	if err := problems.Err(); err != nil {
		return err
	}
	molecules := make([]*chem.Molecule, len(results))
	for i, r := range results {
		molecules[i] = r.Molecule
	}
	found, err := g.scored(ctx, molecules, func(int) bool { return true })
	g.starts = distinct(found)
	return err
}
