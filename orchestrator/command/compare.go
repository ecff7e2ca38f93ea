package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/client"
)

type compareCommand struct {
	A    string `arg:"" help:"Id of a model that the service has."`
	B    string `arg:"" help:"Id of another model of the same API."`
	File string `arg:"" help:"Data that neither model was trained on: molecules for the latent and the masked API; NAME.queries.jsonl.gz, with NAME.passages.jsonl.gz beside it, for embedding and ranking."`

	serviceFlags `embed:"" group:"Service"`

	Rows int  `short:"n" env:"-" default:"1000" help:"Distinct molecules or queries of the file, drawn at random with a fixed seed, or samples of a masked model. 0: as many as the file has."`
	JSON bool `name:"json" env:"-" help:"Print one JSON object."`
}

func (compareCommand) Help() string {
	return "Prints the figures of both models, the differences B - A and their 95% bootstrap intervals. A difference " +
		"whose interval contains 0 may be chance.\n\n" +
		"  latent: molecules that decode to themselves; similarity of the decoded one, 0 if it is none; valid ones\n" +
		"  masked: valid samples without given fragments, as written or repaired; distinct ones; with QED >= 0.6 and " +
		"SA <= 4; diversity; similarity to the nearest molecule of the file\n" +
		"  embedding: nDCG@10 and recall of the held-out queries over all passages\n" +
		"  ranking: nDCG@10 and right first passages of the 20 candidates of the service's first embedding model\n\n" +
		"  retort compare retort/masked-v3 own/masked-v1 own_valid.smi.gz\n" +
		"  retort compare retort/rankqa-minilm-v2 own/ranking-v1 own.queries.jsonl.gz --json"
}

// comparison is what compare prints.
type comparison struct {
	API        string   `json:"api"`
	A          string   `json:"a"`
	B          string   `json:"b"`
	Rows       int      `json:"rows"`
	Unit       string   `json:"unit"`                 // of a row: "molecules", "samples" or "queries"
	Candidates string   `json:"candidates,omitempty"` // model that chooses the passages to rank
	Figures    []figure `json:"figures"`
}

// measurement measures the models of an API.
type measurement struct {
	names []string // of the figures
	rows  int      // of each model
	unit  string   // as in comparison
	// isPaired says whether row i of both models is about the same molecule or query.
	isPaired bool
	// measure returns the values of each figure for the rows of a model, from 0 to 1. The higher, the better. It calls
	// onDone, also concurrently, with the part of work that it has done since the last call.
	measure func(ctx context.Context, model string, onDone func(int)) ([][]float64, error)
	// work is what measure does: texts to embed, molecules, samples or queries.
	work int

	candidates string // as in comparison
}

func (c *compareCommand) Run(p *Process, s *client.Service) error {
	if c.Rows < 0 {
		return errors.New("--rows must not be negative")
	}
	api, err := c.api(p.Context, s)
	if err != nil {
		return err
	}
	prepare, ok := map[string]func(*Process, *client.Service) (*measurement, error){
		"latent": c.latent, "masked": c.masked, "embedding": c.embedding, "ranking": c.ranking,
	}[api]
	if !ok {
		return fmt.Errorf("models of the %s API are not compared", api)
	}
	m, err := prepare(p, s)
	if err != nil {
		return err
	}
	var values [2][][]float64
	onDone := p.countParts("comparing", 2*m.work)
	for i, model := range []string{c.A, c.B} {
		if values[i], err = m.measure(p.Context, model, onDone); err != nil {
			return fmt.Errorf("%s: %w", model, err)
		}
	}
	result := comparison{API: api, A: c.A, B: c.B, Rows: m.rows, Unit: m.unit, Candidates: m.candidates}
	for i, name := range m.names {
		result.Figures = append(result.Figures, newFigure(name, values[0][i], values[1][i], m.isPaired))
	}
	if c.JSON {
		return json.NewEncoder(p.Stdout).Encode(result)
	}
	return result.print(p)
}

// countParts returns a function that adds to the work that is done, and shows it. It can be called concurrently.
func (p *Process) countParts(activity string, total int) func(int) {
	show := p.showPart(activity)
	var mu sync.Mutex // of show and done
	done := 0
	return func(more int) {
		mu.Lock()
		defer mu.Unlock()
		if done += more; show != nil {
			show(done, total)
		}
	}
}

// api returns the API of both models.
func (c *compareCommand) api(ctx context.Context, s *client.Service) (string, error) {
	models, err := servedModels(ctx, s)
	if err != nil {
		return "", err
	}
	var ids []string
	apis := map[string]string{}
	for _, model := range models {
		ids = append(ids, model.ID)
		apis[model.ID] = model.API
	}
	for _, id := range []string{c.A, c.B} {
		if apis[id] == "" {
			return "", fmt.Errorf("%s serves no model %s; its models are %s", s.URL, id, strings.Join(ids, ", "))
		}
	}
	if apis[c.A] != apis[c.B] {
		return "", fmt.Errorf("%s is a model of the %s API, and %s of the %s API", c.A, apis[c.A], c.B, apis[c.B])
	}
	return apis[c.A], nil
}

func (r comparison) print(p *Process) error {
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "A: %s, B: %s, %d %s\n", r.A, r.B, r.Rows, r.Unit)
	if r.Candidates != "" {
		fmt.Fprintf(table, "candidates by %s\n", r.Candidates)
	}
	fmt.Fprintln(table, "FIGURE\tA\tB\tB - A\t95% INTERVAL\tBETTER")
	for _, f := range r.Figures {
		better := f.Better
		if better == "" {
			better = "unclear"
		}
		fmt.Fprintf(table, "%s\t%.3f\t%.3f\t%+.3f\t%+.3f to %+.3f\t%s\n",
			f.Name, f.A, f.B, f.Difference, f.Low, f.High, better)
	}
	return table.Flush()
}

// draw returns at most --rows items in random order, the same for the same number of items.
func draw[T any](c *compareCommand, items []T) []T {
	random := rand.New(rand.NewPCG(1, uint64(len(items))))
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	if c.Rows > 0 {
		items = items[:min(c.Rows, len(items))]
	}
	return items
}

// inBatches calls do with the bounds of batches of rows, defaultConcurrency at once.
func inBatches(ctx context.Context, rows, size int, do func(ctx context.Context, start, end int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(defaultConcurrency)
	for start := 0; start < rows; start += size {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return do(ctx, start, min(start+size, rows))
		})
	}
	return group.Wait()
}

// onAllCores calls do with each index below count, at once on as many cores as there are.
func onAllCores(ctx context.Context, count int, do func(i int)) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
	return context.Cause(ctx)
}
