package command

import (
	"context"
	"encoding/json"
	"errors"

	"retort/orchestrator/client"
)

// Optimize is retort optimize.
type Optimize struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES to begin with, or a file of them: each is a search of its own."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Objective     string   `env:"-" default:"QED" placeholder:"WHAT" help:"What to improve: a name (QED, plogP, SA, an oracle), several with commas between them, JSON, or a file of JSON (ORACLES.md and /latent/docs describe it)."`
	Minimize      bool     `env:"-" help:"Look for low values."`
	Count         int      `short:"n" env:"-" default:"10" help:"Molecules to return for each, best first."`
	MinSimilarity *float64 `env:"-" placeholder:"0…1" help:"Least Tanimoto similarity to the molecule begun with; by default 0.7, as the API."`
	Iterations    int      `env:"-" default:"10" help:"Generations of the search."`
	Particles     int      `env:"-" default:"30" help:"Molecules evaluated in each generation."`
	Radius        float64  `env:"-" default:"1" help:"Of the first generation around the molecule."`
	Seed          *int64   `env:"-" placeholder:"N" help:"Seed of the random numbers, for the same molecules again."`
	FromNothing   bool     `env:"-" help:"Begin with molecules that the model draws itself, and take no input."`
}

// Help is the longer text of --help.
func (Optimize) Help() string {
	return "Searches for better molecules near each given one, and shows the best score while it does.\n\n" +
		"  retort optimize 'CC(C)Cc1ccc(C(C)C(=O)O)cc1' --min-similarity 0.4\n" +
		"  retort optimize seeds.smi --objective goal.json --iterations 50 -o better.sdf"
}

// Run searches.
func (c *Optimize) Run(p *Process) error {
	goal, err := objective(c.Objective)
	if err != nil {
		return err
	}
	s, err := c.service(p)
	if err != nil {
		return err
	}
	arguments := c.Molecules
	k := molecules
	if c.FromNothing {
		if len(c.Molecules) > 0 || c.Input.File != "" {
			return errors.New("--from-nothing takes no molecules")
		}
		arguments = []string{"(none)"}
		k = kind{what: "search"}
	}
	return overRows(p, c.Input, c.Output, k, arguments, "smiles", func(j *job) {
		j.verb = "optimising"
		j.size = 1
		j.atOnce = 2
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			found, err := c.search(ctx, s, goal, rows[0], j)
			return []answer{found}, err
		}
	})
}

// optimized is the last event of a stream.
type optimized struct {
	Generated []struct {
		Smiles     string   `json:"smiles"`
		Score      float64  `json:"score"`
		Similarity *float64 `json:"similarity"`
	} `json:"generated"`
	Unfinished *struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"unfinished"`
}

// search follows one search to its end.
func (c *Optimize) search(ctx context.Context, s service, goal any, row Row, j *job) (answer, error) {
	body := map[string]any{
		"smi": row.Text, "objective": goal, "minimize": c.Minimize, "num_molecules": c.Count, "iterations": c.Iterations,
		"particles": c.Particles, "scaled_radius": c.Radius, "seed": c.Seed, "include_scores": true, "stream": true,
	}
	if c.FromNothing {
		body["smi"] = []string{}
	}
	if c.MinSimilarity != nil {
		body["min_similarity"] = *c.MinSimilarity
	}
	var last optimized
	answered := false
	err := s.Stream(ctx, "/latent/generate", body, func(data []byte) error {
		var event struct {
			optimized
			Iteration int `json:"iteration"`
			Best      *struct {
				Score float64 `json:"score"`
			} `json:"best"`
		}
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		if event.Iteration == 0 {
			last = event.optimized
			answered = true
		} else if event.Best != nil {
			j.note("line %d, generation %d of %d: best %.4f", row.Line, event.Iteration, c.Iterations, event.Best.Score)
		}
		return nil
	})
	if err == nil && !answered {
		err = &client.UnreachableError{URL: s.URL, Err: client.ErrCut}
	}
	if err != nil {
		return answer{}, err
	}
	if last.Unfinished != nil {
		j.process.tell("%sline %d: %s\n", clearLine(j.process), row.Line, shown(last.Unfinished.Message))
	}
	var found answer
	for i, m := range last.Generated {
		fields := []Field{{"smiles", m.Smiles}, {"number", i + 1}, {"score", m.Score}, {"similarity", nil}}
		if m.Similarity != nil {
			fields[3].Value = *m.Similarity
		}
		found.records = append(found.records, row.record(fields...))
	}
	if len(found.records) == 0 {
		found.err = errors.New("the search found nothing: a lower --min-similarity or more --iterations may help")
	}
	return found, nil
}
