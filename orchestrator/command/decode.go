package command

import (
	"context"
	"encoding/json"
	"errors"
)

// Decode is retort decode.
type Decode struct {
	States []string `arg:"" optional:"" name:"file" help:"File of hidden states: JSONL with the members hidden and mask, as retort embed --hidden writes it. Without one, standard input."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`
}

// Help is the longer text of --help.
func (Decode) Help() string {
	return "Turns hidden states into molecules.\n\n  retort embed --hidden CCO c1ccccc1 | retort decode --format csv"
}

// state is a row of the input.
type state struct {
	Hidden json.RawMessage `json:"hidden"`
	Mask   json.RawMessage `json:"mask"`
	Input  string          `json:"input"`
}

// Run decodes.
func (c *Decode) Run(p *Process) error {
	return overService(p, c.Input, c.Output, c.Service, states, c.States, "smiles", func(j *job, s service) {
		j.verb = "decoding"
		j.prepare = func(row *Row) error {
			var given state
			if err := json.Unmarshal(row.JSON, &given); err != nil || len(given.Hidden) == 0 || len(given.Mask) == 0 {
				return errors.New("it needs the members hidden and mask")
			}
			row.Label = given.Input
			if row.Label == "" {
				row.Label = "hidden state"
			}
			return nil
		}
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			hiddens := make([]json.RawMessage, len(rows))
			masks := make([]json.RawMessage, len(rows))
			for i, row := range rows {
				var given state
				if err := json.Unmarshal(row.JSON, &given); err != nil {
					return nil, err
				}
				hiddens[i] = given.Hidden
				masks[i] = given.Mask
			}
			var said struct{ Generated []string }
			if err := s.Post(ctx, "/latent/decode", map[string]any{"hiddens": hiddens, "mask": masks}, &said); err != nil {
				return nil, err
			}
			return one(rows, len(said.Generated), func(i int) []Field { return []Field{{"smiles", said.Generated[i]}} })
		}
	})
}
