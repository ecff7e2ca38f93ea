package command

import (
	"context"
	"errors"

	"retort/chem"
	"retort/orchestrator/client"
)

type sampleCommand struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`

	Count  int     `short:"n" env:"-" default:"10" help:"Molecules to sample around each one."`
	Radius float64 `env:"-" default:"0.7" help:"Distance from the given molecule: 0.1 gives close relatives, 1 and more gives others."`
	Beam   int     `env:"-" default:"1" help:"Beam size of the decoder."`
	Seed   *int64  `env:"-" placeholder:"N" help:"Seed of the random numbers, to get the same molecules again."`
}

func (sampleCommand) Help() string {
	return "Each molecule has its Tanimoto similarity to the given one (Morgan, radius 2).\n\n" +
		"  retort sample CCOc1ccccc1 --count 5\n  retort sample seeds.smi -o around.sdf"
}

func (c *sampleCommand) Run(p *Process, s *client.Service) error {
	sample := func(ctx context.Context, rows []inputRow) ([]answer, error) {
		body := map[string]any{
			"sequences": texts(rows), "num_molecules": c.Count, "scaled_radius": c.Radius,
			"beam_size": c.Beam, "seed": c.Seed,
		}
		var response struct{ Generated [][]string }
		if err := s.Post(ctx, "/latent/sampling", body, &response); err != nil {
			return nil, err
		}
		if len(response.Generated) != len(rows) {
			return nil, errAnswerCount(len(response.Generated), len(rows))
		}
		answers := make([]answer, len(rows))
		for i, row := range rows {
			if len(response.Generated[i]) == 0 {
				answers[i].err = errors.New("no molecule was found")
			}
			for n, smiles := range response.Generated[i] {
				answers[i].records = append(answers[i].records, row.record(
					field{"smiles", smiles},
					field{"number", n + 1},
					field{"similarity", similarity(row.text, smiles)},
				))
			}
		}
		return answers, nil
	}
	return c.run(p, c.Molecules, &pipeline{
		kind: moleculeRows, activity: "sampling", batchSize: 16, hasMolecules: true, request: sample,
	})
}

// similarity returns the Tanimoto similarity of two SMILES, or nil if one cannot be parsed.
func similarity(first, second string) any {
	a, err := chem.Parse(first)
	if err != nil {
		return nil
	}
	b, err := chem.Parse(second)
	if err != nil {
		return nil
	}
	return chem.Similarity(a, b)
}
