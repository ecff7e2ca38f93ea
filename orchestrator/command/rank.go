package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Rank is retort rank.
type Rank struct {
	Query    string   `arg:"" help:"What passages are ranked for."`
	Passages []string `arg:"" optional:"" name:"passage" help:"Texts, or a file of them."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Model     string `env:"-" placeholder:"ID" help:"Model; by default the first of the service."`
	Truncate  string `env:"-" enum:"NONE,END" default:"END" help:"What becomes of passages that are too long: NONE refuses them, END cuts there."`
	Top       int    `env:"-" placeholder:"N" help:"Only the best so many."`
	KeepOrder bool   `env:"-" help:"Write passages in the order of the input, as they are answered, so that a run can be gone on with by --resume; by default the best comes first, once all are answered."`
}

// Help is the longer text of --help.
func (Rank) Help() string {
	return "Orders passages by how well they answer a query. The logit is unbounded: more is better.\n\n" +
		"  retort rank 'What eases pain?' passages.txt --top 5"
}

// Run ranks.
func (c *Rank) Run(p *Process) error {
	s, err := c.service(p)
	if err != nil {
		return err
	}
	if c.Resume && !c.KeepOrder || c.KeepOrder && c.Top > 0 {
		return errors.New("--resume needs --keep-order, which --top excludes: the best are known once all are answered")
	}
	id, err := model(p.Context, s, "ranking", c.Model)
	if err != nil {
		return err
	}
	return overRows(p, c.Input, c.Output, texts, c.Passages, "", func(j *job) {
		j.verb = "ranking"
		j.size = 64
		if !c.KeepOrder {
			j.sink.writer = &best{writer: j.sink.writer, top: c.Top}
		}
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			return c.ask(ctx, s, id, rows)
		}
	})
}

func (c *Rank) ask(ctx context.Context, s service, id string, rows []Row) ([]answer, error) {
	type text struct {
		Text string `json:"text"`
	}
	passages := make([]text, len(rows))
	for i, row := range rows {
		passages[i].Text = row.Text
	}
	var said struct {
		Rankings []struct {
			Index int     `json:"index"`
			Logit float64 `json:"logit"`
		} `json:"rankings"`
	}
	body := map[string]any{"model": id, "query": text{c.Query}, "passages": passages, "truncate": c.Truncate}
	if err := s.Post(ctx, "/ranking/v1/ranking", body, &said); err != nil {
		return nil, err
	}
	logits := make([]float64, len(rows))
	for _, rank := range said.Rankings {
		if rank.Index < 0 || rank.Index >= len(rows) {
			return nil, fmt.Errorf("passage %d was ranked of %d", rank.Index, len(rows))
		}
		logits[rank.Index] = rank.Logit
	}
	return one(rows, len(said.Rankings), func(i int) []Field { return []Field{{"logit", logits[i]}} })
}

// best holds all records back until the end, and writes those with the highest logits first.
type best struct {
	writer
	top int // 0 for all
	all []Record
}

func (b *best) write(r Record) error {
	b.all = append(b.all, r)
	return nil
}

// flush is called after every batch, and writes nothing.
func (b *best) flush() error { return nil }

// end writes what was held back.
func (b *best) end() error {
	slices.SortStableFunc(b.all, func(x, y Record) int {
		first, _ := x.get("logit").(float64)
		second, _ := y.get("logit").(float64)
		switch {
		case first > second:
			return -1
		case first < second:
			return 1
		}
		return 0
	})
	if b.top > 0 {
		b.all = b.all[:min(b.top, len(b.all))]
	}
	for _, r := range b.all {
		if err := b.writer.write(r); err != nil {
			return err
		}
	}
	return b.writer.end()
}
