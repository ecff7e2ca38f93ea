package command

import (
	"context"
	"fmt"

	"retort/chem"
)

// Sample is retort sample.
type Sample struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Count  int     `short:"n" env:"-" default:"10" help:"Molecules to draw around each."`
	Radius float64 `env:"-" default:"0.7" help:"How far: 0.1 gives close relatives, 1 and more others."`
	Beam   int     `env:"-" default:"1" help:"Beams of the decoder."`
	Seed   *int64  `env:"-" placeholder:"N" help:"Seed of the random numbers, for the same molecules again."`
}

// Help is the longer text of --help.
func (Sample) Help() string {
	return "Draws molecules around each given one in the latent space of the model, with their Tanimoto similarity to it (Morgan, radius 2).\n\n" +
		"  retort sample CCOc1ccccc1 --count 5\n  retort sample seeds.smi -o around.sdf"
}

// Run draws.
func (c *Sample) Run(p *Process) error {
	return overService(p, c.Input, c.Output, c.Service, molecules, c.Molecules, "smiles", func(j *job, s service) {
		j.verb = "sampling"
		j.size = 16
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			var said struct{ Generated [][]string }
			err := s.Post(ctx, "/latent/sampling", map[string]any{
				"sequences": column(rows), "num_molecules": c.Count, "scaled_radius": c.Radius, "beam_size": c.Beam, "seed": c.Seed,
			}, &said)
			if err == nil && len(said.Generated) != len(rows) {
				err = fmt.Errorf("%d rows were answered for %d", len(said.Generated), len(rows))
			}
			if err != nil {
				return nil, err
			}
			answers := make([]answer, len(rows))
			for i, row := range rows {
				for at, smiles := range said.Generated[i] {
					answers[i].records = append(answers[i].records, row.record(
						Field{"smiles", smiles}, Field{"number", at + 1}, Field{"similarity", similarity(row.Text, smiles)}))
				}
			}
			return answers, nil
		}
	})
}

// similarity is that of two SMILES, nil where one cannot be read.
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
