package latent

import (
	"context"
	"fmt"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/telemetry"
)

// sequencePath is the path of row i of sequences in the body.
func sequencePath(i int) []any { return []any{"sequences", i} }

// seeds are the molecules of a request, which every endpoint but /decode starts from.
type seeds struct {
	model    Model
	list     []search.Seed  // without hidden states, until encode
	rows     []int          // row of the request of each seed
	problems fault.Problems // of the rows that cannot be read
}

// readSequences reads the SMILES of /embedding, /hidden and /sampling for the model with a public id. A row that
// cannot be read is left out if skip is set, else it is an error.
func (s *Service) readSequences(ctx context.Context, id string, smiles []string, skip bool) (seeds, error) {
	model, err := s.model(id)
	if err != nil {
		return seeds{}, err
	}
	found, err := readSeeds(ctx, model, smiles, sequencePath)
	if err == nil && !skip {
		err = found.problems.Err()
	}
	return found, err
}

// readSeeds reads the SMILES of a request. Rows that the model cannot read are left out and noted among the problems,
// with their path in the body.
func readSeeds(ctx context.Context, model Model, smiles []string, path func(i int) []any) (seeds, error) {
	results, err := chem.Evaluate(ctx, smiles, chem.FactFingerprint)
	if err != nil {
		return seeds{}, err
	}
	found := seeds{model: model}
	tokens := 0
	for i, result := range results {
		seed, f := seedOf(model, smiles[i], result)
		switch {
		case f == nil:
			found.list = append(found.list, seed)
			found.rows = append(found.rows, i)
			tokens += len(seed.Tokens)
		case !found.problems.Full():
			found.problems.Add(f.Under(path(i)...))
		}
	}
	request := telemetry.FromContext(ctx)
	request.AddRows(len(found.list))
	request.AddTokens(tokens)
	return found, nil
}

// tokens returns the token ids of each seed.
func (s *seeds) tokens() [][]int32 {
	rows := make([][]int32, len(s.list))
	for i, seed := range s.list {
		rows[i] = seed.Tokens
	}
	return rows
}

// encode sets the hidden states of the seeds.
func (s *seeds) encode(ctx context.Context) error {
	hiddens, err := s.model.Encode(ctx, s.tokens())
	if err != nil {
		return err
	}
	for i := range s.list {
		s.list[i].Hidden = hiddens[i]
	}
	return nil
}

// seedOf returns the seed of a text that was read as a molecule. It tokenises the canonical SMILES, because the model
// was trained on canonical SMILES.
func seedOf(model Model, smiles string, read chem.Result) (search.Seed, *fault.Error) {
	if read.Err != nil {
		return search.Seed{}, invalidSMILES(smiles, read.Err)
	}
	tokens, err := model.Tokens(read.Molecule.SMILES())
	if err != nil {
		f := *fault.As(err)
		f.Input = fault.Clip(smiles)
		return search.Seed{}, &f
	}
	return search.NewSeed(read.Molecule, tokens), nil
}

// invalidSMILES returns a fault that says why a text is not a molecule, and at which byte.
func invalidSMILES(smiles string, err error) *fault.Error {
	reason, position := chem.Reason(err)
	if position >= 0 {
		reason += fmt.Sprintf(" (byte %d)", position)
	}
	return fault.Field("value_error", fault.Clip(smiles), nil, "Value error, not a valid SMILES: %s", reason)
}
