package latent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// encode reads SMILES and encodes them: what every endpoint but /decode begins
// with. All that cannot be read are reported, each with its place in
// the body, path.
func (s *Service) encode(ctx context.Context, smiles []string, most int, path func(i int) []any) (Model, []seed, error) {
	if f := fault.Items(len(smiles), 1, most, path(0)[0]); f != nil {
		return nil, nil, f
	}
	model, err := s.model()
	if err != nil {
		return nil, nil, err
	}
	seeds, rows, err := read(ctx, model, smiles, path)
	if err != nil {
		return nil, nil, err
	}
	request, tokens := telemetry.FromContext(ctx), 0
	for _, row := range rows {
		tokens += len(row)
	}
	request.AddRows(len(rows))
	request.AddTokens(tokens)
	hiddens, err := model.Encode(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	for i, h := range hiddens {
		seeds[i].ids, seeds[i].hidden = rows[i], h
	}
	return model, seeds, nil
}

// read makes canonical SMILES, which the model was trained on, and token ids.
func read(ctx context.Context, model Model, smiles []string, path func(i int) []any) ([]seed, [][]int32, error) {
	results, err := chem.Evaluate(ctx, smiles, chem.Options{Facts: chem.FactFingerprint})
	if err != nil {
		return nil, nil, err
	}
	seeds, rows := make([]seed, len(smiles)), make([][]int32, len(smiles))
	var problems []*fault.Error
	for i, result := range results {
		if len(problems) == mostProblems {
			break
		}
		if result.Err != nil {
			problems = append(problems, unreadable(smiles[i], result.Err).Under(path(i)...))
			continue
		}
		seeds[i] = seed{smiles: result.Molecule.SMILES(), print: result.Molecule.Fingerprint()}
		var f *fault.Error
		if rows[i], f = model.Tokens(seeds[i].smiles); f != nil {
			f.Input = shortened(smiles[i])
			problems = append(problems, f.Under(path(i)...))
		}
	}
	return seeds, rows, fault.Join(problems...)
}

// unreadable words why a text is no molecule, and at which byte.
func unreadable(smiles string, err error) *fault.Error {
	reason, position := err.Error(), -1
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
	return fault.Field("value_error", shortened(smiles), nil, "Value error, not a valid SMILES: %s", reason)
}

// shortened is a text as an error may repeat it.
func shortened(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// sequence is where row i of sequences stands in the body.
func sequence(i int) []any { return []any{"sequences", i} }
