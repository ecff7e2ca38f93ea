package command

import (
	"context"
	"encoding/json"
	"fmt"
)

// Embed is retort embed.
type Embed struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Hidden bool `env:"-" help:"The hidden states, which retort decode turns into molecules again, in place of one vector."`
}

// Help is the longer text of --help.
func (Embed) Help() string {
	return "Gives the vector of each molecule in the latent space of the model.\n\n" +
		"  retort embed molecules.csv -o vectors.jsonl\n  retort embed --hidden molecules.smi | retort decode"
}

// Run embeds.
func (c *Embed) Run(p *Process) error {
	return overService(p, c.Input, c.Output, c.Service, molecules, c.Molecules, "", func(j *job, s service) {
		j.verb = "embedding"
		j.size = 64
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			if c.Hidden {
				return hidden(ctx, s, rows)
			}
			var said struct{ Embeddings []json.RawMessage }
			if err := s.Post(ctx, "/latent/embedding", map[string]any{"sequences": column(rows)}, &said); err != nil {
				return nil, err
			}
			return one(rows, len(said.Embeddings), func(i int) []Field { return []Field{{"embedding", raw(said.Embeddings[i])}} })
		}
	})
}

func hidden(ctx context.Context, s service, rows []Row) ([]answer, error) {
	var said struct{ Hiddens, Mask []json.RawMessage }
	if err := s.Post(ctx, "/latent/hidden", map[string]any{"sequences": column(rows)}, &said); err != nil {
		return nil, err
	}
	return one(rows, min(len(said.Hiddens), len(said.Mask)), func(i int) []Field {
		return []Field{{"hidden", raw(said.Hiddens[i])}, {"mask", raw(said.Mask[i])}}
	})
}

// raw is JSON of the service, kept as it came. As text it is the JSON.
type raw json.RawMessage

// MarshalJSON returns it.
func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

func (r raw) String() string { return string(r) }

// one makes a record of each row, of which the service has answered so many.
func one(rows []Row, answered int, fields func(i int) []Field) ([]answer, error) {
	if answered != len(rows) {
		return nil, fmt.Errorf("%d rows were answered for %d", answered, len(rows))
	}
	answers := make([]answer, len(rows))
	for i, row := range rows {
		answers[i].records = []Record{row.record(fields(i)...)}
	}
	return answers, nil
}
