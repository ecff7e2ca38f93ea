package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"retort/orchestrator/client"
)

type rankCommand struct {
	Query    string   `arg:"" help:"Query to rank the passages for."`
	Passages []string `arg:"" optional:"" name:"passage" help:"Texts, or a file of them."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`

	Model     string `env:"-" placeholder:"ID" help:"Model to use; by default the first one of the service."`
	Truncate  string `env:"-" enum:"NONE,END" default:"END" help:"How to treat passages that are too long: NONE refuses them, END cuts off their end."`
	Top       int    `env:"-" placeholder:"N" help:"Return only the best N passages."`
	KeepOrder bool   `env:"-" help:"Write passages in the order of the input as they are scored, which --resume requires. By default the best come first, once all are scored."`
}

func (rankCommand) Help() string {
	return "The logit of a passage is unbounded; higher is better.\n\n" +
		"  retort rank 'What eases pain?' passages.txt --top 5"
}

func (c *rankCommand) Run(p *Process, s *client.Service) error {
	if c.Resume && !c.KeepOrder || c.KeepOrder && c.Top > 0 {
		return errors.New("--resume needs --keep-order, which --top excludes: the best are known once all are answered")
	}
	model, err := chooseModel(p.Context, s, "ranking", c.Model, false)
	if err != nil {
		return err
	}
	pipe := &pipeline{kind: textRows, activity: "ranking", batchSize: 64}
	pipe.request = func(ctx context.Context, rows []inputRow) ([]answer, error) {
		return c.rank(ctx, s, model, rows)
	}
	if !c.KeepOrder {
		pipe.wrap = func(w writer) writer { return &rankingWriter{writer: w, top: c.Top} }
	}
	return c.run(p, c.Passages, pipe)
}

func (c *rankCommand) rank(ctx context.Context, s *client.Service, model string, rows []inputRow) ([]answer, error) {
	type text struct {
		Text string `json:"text"`
	}
	passages := make([]text, len(rows))
	for i, row := range rows {
		passages[i].Text = row.text
	}
	body := map[string]any{"model": model, "query": text{c.Query}, "passages": passages, "truncate": c.Truncate}
	var response struct {
		Rankings []struct {
			Index int     `json:"index"`
			Logit float64 `json:"logit"`
		} `json:"rankings"`
	}
	if err := s.Post(ctx, "/ranking/v1/ranking", body, &response); err != nil {
		return nil, err
	}
	logits := make([]float64, len(rows))
	for _, ranking := range response.Rankings {
		if ranking.Index < 0 || ranking.Index >= len(rows) {
			return nil, fmt.Errorf("passage %d was ranked of %d", ranking.Index, len(rows))
		}
		logits[ranking.Index] = ranking.Logit
	}
	return onePerRow(rows, len(response.Rankings), func(i int) []field { return []field{{"logit", logits[i]}} })
}

// rankingWriter holds all records back until the end, then writes those with the highest logits first.
type rankingWriter struct {
	writer
	top     int // 0 for all
	records []outputRecord
}

func (w *rankingWriter) write(r outputRecord) error {
	w.records = append(w.records, r)
	return nil
}

func (w *rankingWriter) end() error {
	slices.SortStableFunc(w.records, func(a, b outputRecord) int {
		first, _ := a.get("logit").(float64)
		second, _ := b.get("logit").(float64)
		return cmp.Compare(second, first)
	})
	if w.top > 0 {
		w.records = w.records[:min(w.top, len(w.records))]
	}
	for _, r := range w.records {
		if err := w.writer.write(r); err != nil {
			return err
		}
	}
	return w.writer.end()
}
