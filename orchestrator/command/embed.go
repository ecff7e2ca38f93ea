package command

import (
	"context"
	"encoding/json"

	"retort/orchestrator/client"
)

// Embed is retort embed.
type Embed struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Hidden bool `env:"-" help:"Return hidden states, which retort decode turns into molecules again, instead of one vector per molecule."`
}

// Help returns the longer text of --help.
func (Embed) Help() string {
	return "Computes the vector of each molecule in the latent space of the model.\n\n" +
		"  retort embed molecules.csv -o vectors.jsonl\n  retort embed --hidden molecules.smi | retort decode"
}

// Run embeds.
func (c *Embed) Run(p *Process) error {
	s, err := c.client(p)
	if err != nil {
		return err
	}
	l := newPipeline(p, c.Input, c.Output, moleculeRows, c.Molecules)
	l.activity = "embedding"
	l.batchSize = 64
	l.ask = func(ctx context.Context, rows []inputRow) ([]answer, error) {
		if c.Hidden {
			return hiddenStates(ctx, s, rows)
		}
		var response struct{ Embeddings []json.RawMessage }
		if err := s.Post(ctx, "/latent/embedding", map[string]any{"sequences": texts(rows)}, &response); err != nil {
			return nil, err
		}
		return onePerRow(rows, len(response.Embeddings), func(i int) []field {
			return []field{{"embedding", response.Embeddings[i]}}
		})
	}
	return l.run()
}

func hiddenStates(ctx context.Context, s *client.Service, rows []inputRow) ([]answer, error) {
	var response struct{ Hiddens, Mask []json.RawMessage }
	if err := s.Post(ctx, "/latent/hidden", map[string]any{"sequences": texts(rows)}, &response); err != nil {
		return nil, err
	}
	return onePerRow(rows, min(len(response.Hiddens), len(response.Mask)), func(i int) []field {
		return []field{{"hidden", response.Hiddens[i]}, {"mask", response.Mask[i]}}
	})
}
