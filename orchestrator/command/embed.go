package command

import (
	"context"
	"encoding/json"

	"retort/orchestrator/client"
)

type embedCommand struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`

	Hidden bool `env:"-" help:"Return hidden states, which retort decode turns into molecules again, instead of one vector per molecule."`
}

func (embedCommand) Help() string {
	return "Examples:\n\n  retort embed molecules.csv -o vectors.jsonl\n" +
		"  retort embed --hidden molecules.smi | retort decode"
}

func (c *embedCommand) Run(p *Process, s *client.Service) error {
	embed := func(ctx context.Context, rows []inputRow) ([]answer, error) {
		path := "/latent/embedding"
		if c.Hidden {
			path = "/latent/hidden"
		}
		var response struct{ Embeddings, Hiddens, Mask []json.RawMessage }
		if err := s.Post(ctx, path, map[string]any{"sequences": texts(rows)}, &response); err != nil {
			return nil, err
		}
		if !c.Hidden {
			return onePerRow(rows, len(response.Embeddings), func(i int) []field {
				return []field{{"embedding", response.Embeddings[i]}}
			})
		}
		return onePerRow(rows, min(len(response.Hiddens), len(response.Mask)), func(i int) []field {
			return []field{{"hidden", response.Hiddens[i]}, {"mask", response.Mask[i]}}
		})
	}
	return c.run(p, c.Molecules, &pipeline{kind: moleculeRows, activity: "embedding", batchSize: 64, request: embed})
}
