package latent

import (
	"context"
	"errors"
	"fmt"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/telemetry"
)

// sequencePath is where row i of sequences stands in the body.
func sequencePath(i int) []any { return []any{"sequences", i} }

// seeds reads the SMILES of a request and encodes them: what every endpoint but /decode begins with. The error names
// all that cannot be read, each with its place in the body, path.
func (s *Service) seeds(ctx context.Context, smiles []string, path func(i int) []any) (Model, []search.Seed, error) {
	model, err := s.model()
	if err != nil {
		return nil, nil, err
	}
	seeds, err := read(ctx, model, smiles, path)
	if err != nil {
		return nil, nil, err
	}
	rows := make([][]int32, len(seeds))
	tokens := 0
	for i, seed := range seeds {
		rows[i] = seed.Tokens
		tokens += len(seed.Tokens)
	}
	request := telemetry.FromContext(ctx)
	request.AddRows(len(rows))
	request.AddTokens(tokens)
	hiddens, err := model.Encode(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	for i := range seeds {
		seeds[i].Hidden = hiddens[i]
	}
	return model, seeds, nil
}

// read makes seeds without their hidden states: canonical SMILES, which the model was trained on, and token ids.
func read(ctx context.Context, model Model, smiles []string, path func(i int) []any) ([]search.Seed, error) {
	results, err := chem.Evaluate(ctx, smiles, chem.Options{Facts: chem.FactFingerprint})
	if err != nil {
		return nil, err
	}
	seeds := make([]search.Seed, len(smiles))
	var problems fault.Problems
	problems.AddEach(len(smiles), func(i int) *fault.Error {
		if err := results[i].Err; err != nil {
			return unreadable(smiles[i], err).Under(path(i)...)
		}
		molecule := results[i].Molecule
		tokens, err := model.Tokens(molecule.SMILES())
		if err != nil {
			f := fault.As(err).Under(path(i)...)
			f.Input = fault.Clip(smiles[i])
			return f
		}
		seeds[i] = search.Seed{
			SMILES:      molecule.SMILES(),
			Radicals:    molecule.Radicals(),
			Fingerprint: molecule.Fingerprint(),
			Tokens:      tokens,
		}
		return nil
	})
	return seeds, problems.Err()
}

// unreadable words why a text is no molecule, and at which byte.
func unreadable(smiles string, err error) *fault.Error {
	reason := err.Error()
	position := -1
	var syntax *chem.SyntaxError
	var valence *chem.ValenceError
	var aromatic *chem.KekulizeError
	switch {
	case errors.As(err, &syntax):
		reason, position = syntax.Reason, syntax.Position
	case errors.As(err, &valence):
		reason, position = valence.Reason, valence.Position
	case errors.As(err, &aromatic):
		reason, position = aromatic.Reason, aromatic.Position
	}
	if position >= 0 {
		reason += fmt.Sprintf(" (byte %d)", position)
	}
	return fault.Field("value_error", fault.Clip(smiles), nil, "Value error, not a valid SMILES: %s", reason)
}
