package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"retort/chem"
	"retort/orchestrator/client"
)

type decodeCommand struct {
	States []string `arg:"" optional:"" name:"file" help:"File of hidden states: JSONL with the members hidden and mask, as retort embed --hidden writes it. Without one, standard input is read."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`
}

func (decodeCommand) Help() string {
	return "Example:\n\n  retort embed --hidden CCO c1ccccc1 | retort decode --format csv"
}

// hiddenState is a row of the input.
type hiddenState struct {
	Hidden json.RawMessage `json:"hidden"`
	Mask   json.RawMessage `json:"mask"`
	Input  string          `json:"input"`
}

func parseHiddenState(line []byte) (state hiddenState, err error) {
	if err := json.Unmarshal(line, &state); err != nil || len(state.Hidden) == 0 || len(state.Mask) == 0 {
		return state, errors.New("it needs the members hidden and mask")
	}
	return state, nil
}

var hiddenStateRows = rowKind{
	noun:    "hidden state",
	format:  "jsonl",
	columns: []string{"hidden"},
	check: func(row *inputRow) error {
		state, err := parseHiddenState(row.json)
		row.label = cmp.Or(state.Input, "hidden state")
		return err
	},
}

func (c *decodeCommand) Run(p *Process, s *client.Service) error {
	decode := func(ctx context.Context, rows []inputRow) ([]answer, error) {
		hiddens := make([]json.RawMessage, len(rows))
		masks := make([]json.RawMessage, len(rows))
		for i, row := range rows {
			state, err := parseHiddenState(row.json)
			if err != nil {
				return nil, err
			}
			hiddens[i] = state.Hidden
			masks[i] = state.Mask
		}
		var response struct{ Generated []string }
		body := map[string]any{"hiddens": hiddens, "mask": masks}
		if err := s.Post(ctx, "/latent/decode", body, &response); err != nil {
			return nil, err
		}
		answers, err := onePerRow(rows, len(response.Generated), func(i int) []field {
			return []field{{"smiles", response.Generated[i]}}
		})
		if err != nil {
			return nil, err
		}
		for i, smiles := range response.Generated {
			if _, err := chem.Parse(smiles); err != nil {
				answers[i] = answer{err: fmt.Errorf("it decodes to %q, which is no molecule: %w", smiles, err)}
			}
		}
		return answers, nil
	}
	return c.run(p, c.States, &pipeline{
		kind: hiddenStateRows, activity: "decoding", batchSize: 32, hasMolecules: true, request: decode,
	})
}
