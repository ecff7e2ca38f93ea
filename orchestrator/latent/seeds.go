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

// given is the molecules of a request: what every endpoint but /decode begins with.
type given struct {
	model Model
	seeds []search.Seed // without hidden states, until encode
	rows  []int         // of each seed its place in the request: with skip_invalid there are fewer seeds than rows
}

// given reads the SMILES of a request. With skip it leaves out what cannot be read; else the error names the first
// fault.MaxProblems of those, each with its place in the body, path.
func (s *Service) given(ctx context.Context, smiles []string, path func(i int) []any, skip bool) (given, error) {
	model, err := s.model()
	if err != nil {
		return given{}, err
	}
	g := given{model: model}
	var problems fault.Problems
	err = g.read(ctx, smiles, func(i int, f *fault.Error) {
		if !skip && !problems.Full() {
			problems.Add(f.Under(path(i)...))
		}
	})
	if err != nil {
		return given{}, err
	}
	tokens := 0
	for _, seed := range g.seeds {
		tokens += len(seed.Tokens)
	}
	request := telemetry.FromContext(ctx)
	request.AddRows(len(g.seeds))
	request.AddTokens(tokens)
	return g, problems.Err()
}

// read takes the SMILES that are molecules which the model reads, and tells of each other one why it is not.
func (g *given) read(ctx context.Context, smiles []string, refused func(i int, f *fault.Error)) error {
	results, err := chem.Evaluate(ctx, smiles, chem.Options{Facts: chem.FactFingerprint})
	if err != nil {
		return err
	}
	for i := range smiles {
		seed, f := seedOf(g.model, smiles[i], results[i])
		if f != nil {
			refused(i, f)
			continue
		}
		g.seeds = append(g.seeds, seed)
		g.rows = append(g.rows, i)
	}
	return nil
}

// tokens are those of each seed.
func (g *given) tokens() [][]int32 {
	rows := make([][]int32, len(g.seeds))
	for i, seed := range g.seeds {
		rows[i] = seed.Tokens
	}
	return rows
}

// encode gives the seeds their hidden states.
func (g *given) encode(ctx context.Context) error {
	hiddens, err := g.model.Encode(ctx, g.tokens())
	if err != nil {
		return err
	}
	for i := range g.seeds {
		g.seeds[i].Hidden = hiddens[i]
	}
	return nil
}

// seedOf makes a seed: the canonical SMILES, which the model was trained on, and its token ids.
func seedOf(model Model, smiles string, read chem.Result) (search.Seed, *fault.Error) {
	if read.Err != nil {
		return search.Seed{}, unreadable(smiles, read.Err)
	}
	molecule := read.Molecule
	tokens, err := model.Tokens(molecule.SMILES())
	if err != nil {
		f := *fault.As(err)
		f.Input = fault.Clip(smiles)
		return search.Seed{}, &f
	}
	return search.Seed{
		SMILES:      molecule.SMILES(),
		Radicals:    molecule.Radicals(),
		HeavyAtoms:  molecule.HeavyAtoms(),
		Fingerprint: molecule.Fingerprint(),
		Tokens:      tokens,
	}, nil
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
