package command

import (
	"context"
	"encoding/json"

	"retort/orchestrator/client"
)

type embedTextCommand struct {
	Texts []string `arg:"" optional:"" name:"text" help:"Texts, or a file of them."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`

	Model      string `env:"-" placeholder:"ID" help:"Model to use; by default the first one of the service."`
	Type       string `env:"-" enum:"passage,query" default:"passage" help:"Kind of texts: passage or query. Models with one mode ignore it."`
	Dimensions int    `env:"-" placeholder:"N" help:"Length of the vectors, for models that support shorter ones."`
	Truncate   string `env:"-" enum:"NONE,START,END" default:"NONE" help:"How to treat texts that are too long: NONE refuses them, START and END cut off that end."`
}

func (embedTextCommand) Help() string {
	return "Examples:\n\n  retort embed-text passages.txt -o vectors.jsonl\n" +
		"  retort embed-text 'What eases pain?' --type query"
}

func (c *embedTextCommand) Run(p *Process, s *client.Service) error {
	model, err := chooseModel(p.Context, s, "embedding", c.Model, false)
	if err != nil {
		return err
	}
	embed := func(ctx context.Context, rows []inputRow) ([]answer, error) {
		// The main port's /v1 also accepts input_type for models with one mode.
		body := map[string]any{"model": model, "input": texts(rows), "input_type": c.Type, "truncate": c.Truncate}
		if c.Dimensions > 0 {
			body["dimensions"] = c.Dimensions
		}
		var response struct {
			Data []struct {
				Embedding json.RawMessage `json:"embedding"`
			} `json:"data"`
		}
		if err := s.Post(ctx, "/v1/embeddings", body, &response); err != nil {
			return nil, err
		}
		return onePerRow(rows, len(response.Data), func(i int) []field {
			return []field{{"embedding", response.Data[i].Embedding}}
		})
	}
	return c.run(p, c.Texts, &pipeline{kind: textRows, activity: "embedding", batchSize: 64, request: embed})
}
