package command

import (
	"context"
	"encoding/json"
)

// EmbedText is retort embed-text.
type EmbedText struct {
	Texts []string `arg:"" optional:"" name:"text" help:"Texts, or a file of them."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Model      string `env:"-" placeholder:"ID" help:"Model; by default the first of the service."`
	Type       string `env:"-" enum:"passage,query" default:"passage" help:"What the texts are: passage or query. Models with one mode do not distinguish."`
	Dimensions int    `env:"-" placeholder:"N" help:"Shorter vectors, of models that have them."`
	Truncate   string `env:"-" enum:"NONE,START,END" default:"NONE" help:"What becomes of texts that are too long: NONE refuses them, START and END cut there."`
}

// Help is the longer text of --help.
func (EmbedText) Help() string {
	return "Gives the vector of each text.\n\n  retort embed-text passages.txt -o vectors.jsonl\n  retort embed-text 'What eases pain?' --type query"
}

// Run embeds.
func (c *EmbedText) Run(p *Process) error {
	s, err := c.service(p)
	if err != nil {
		return err
	}
	id, err := model(p.Context, s, "embedding", c.Model)
	if err != nil {
		return err
	}
	// The main port's /v1 takes input_type from models with one mode too.
	body := map[string]any{"model": id, "input_type": c.Type, "truncate": c.Truncate}
	if c.Dimensions > 0 {
		body["dimensions"] = c.Dimensions
	}
	return overRows(p, c.Input, c.Output, texts, c.Texts, "", func(j *job) {
		j.verb = "embedding"
		j.size = 64
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			asked := map[string]any{"input": column(rows)}
			for name, value := range body {
				asked[name] = value
			}
			var said struct {
				Data []struct {
					Embedding json.RawMessage `json:"embedding"`
				} `json:"data"`
			}
			if err := s.Post(ctx, "/v1/embeddings", asked, &said); err != nil {
				return nil, err
			}
			return one(rows, len(said.Data), func(i int) []Field { return []Field{{"embedding", raw(said.Data[i].Embedding)}} })
		}
	})
}
