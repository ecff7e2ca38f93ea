package command

import (
	"context"
	"encoding/json"
	"errors"

	"retort/orchestrator/client"
)

type optimizeCommand struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES to start from, or a file of them; each starts a search of its own."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`

	Objective     string   `env:"-" default:"QED" placeholder:"WHAT" help:"What to optimize: a name (QED, plogP, SA, an oracle), several names separated by commas, JSON, or a JSON file. /latent/docs describes objectives."`
	Minimize      bool     `env:"-" help:"Search for low values instead of high ones."`
	Count         int      `short:"n" env:"-" default:"10" help:"Molecules to return for each search, best first."`
	MinSimilarity *float64 `env:"-" placeholder:"0…1" help:"Lowest Tanimoto similarity to the starting molecule; by default 0.7, as in the API."`
	Iterations    int      `env:"-" default:"10" help:"Generations of each search."`
	Particles     int      `env:"-" default:"30" help:"Molecules in each generation."`
	Radius        float64  `env:"-" default:"1" help:"Radius of the first generation around the starting molecule."`
	scoreFlags    `embed:""`
	Seed          *int64 `env:"-" placeholder:"N" help:"Seed of the random numbers, to get the same molecules again."`
	FromNothing   bool   `env:"-" help:"Start from molecules that the model samples, without input."`
}

func (optimizeCommand) Help() string {
	return "The progress bar shows the best score so far.\n\n" +
		"  retort optimize 'CC(C)Cc1ccc(C(C)C(=O)O)cc1' --min-similarity 0.4\n" +
		"  retort optimize seeds.smi --objective goal.json --iterations 50 -o better.sdf"
}

func (c *optimizeCommand) Run(p *Process, s *client.Service) error {
	objective, err := parseObjective(c.Objective)
	if err != nil {
		return err
	}
	filters, err := c.filters()
	if err != nil {
		return err
	}
	pipe := &pipeline{kind: moleculeRows, activity: "optimising", batchSize: 1, concurrency: 3, hasMolecules: true}
	molecules := c.Molecules
	if c.FromNothing {
		if len(c.Molecules) > 0 || c.inputFlags.File != "" {
			return errors.New("--from-nothing takes no molecules")
		}
		pipe.kind = rowKind{noun: "search"}
		molecules = []string{"(none)"}
	}
	pipe.request = func(ctx context.Context, rows []inputRow) ([]answer, error) {
		row := rows[0]
		result, err := c.search(ctx, s, objective, filters, row, func(generation int, best float64) {
			pipe.progress.describe("line %d, generation %d of %d: best %.4f", row.line, generation, c.Iterations, best)
		})
		if err != nil {
			return nil, err
		}
		if result.Unfinished != nil {
			p.report("line %d: %s", row.line, result.Unfinished.Message)
		}
		result.LeftOut.report(p, row.line)
		return []answer{result.answer(row, &c.scoreFlags)}, nil
	}
	return c.run(p, molecules, pipe)
}

var errNothingFound = errors.New(
	"the search found nothing: a lower --min-similarity, more --iterations or fewer filters may help")

// searchResult is the last event of a search.
type searchResult struct {
	Generated []struct {
		Smiles     string         `json:"smiles"`
		Score      float64        `json:"score"`
		Similarity *float64       `json:"similarity"`
		Scores     map[string]any `json:"scores"`
		Route      *route         `json:"route"`
	} `json:"generated"`
	LeftOut    *leftOut `json:"left_out"`
	Unfinished *struct {
		Message string `json:"message"`
	} `json:"unfinished"`
}

func (r searchResult) answer(row inputRow, scores *scoreFlags) answer {
	if len(r.Generated) == 0 {
		return answer{err: errNothingFound}
	}
	var found answer
	for i, m := range r.Generated {
		var similarity any
		if m.Similarity != nil {
			similarity = *m.Similarity
		}
		fields := []field{{"smiles", m.Smiles}, {"number", i + 1}, {"score", m.Score}, {"similarity", similarity}}
		found.records = append(found.records, row.record(append(fields, scores.fields(m.Scores, m.Route)...)...))
	}
	return found
}

// search follows a search to its end. It calls onGeneration with each generation and the best score so far.
func (c *optimizeCommand) search(
	ctx context.Context, s *client.Service, objective any, filters []any, row inputRow,
	onGeneration func(int, float64),
) (result searchResult, err error) {
	body := map[string]any{
		"smi": row.text, "objective": objective, "minimize": c.Minimize, "num_molecules": c.Count,
		"iterations": c.Iterations, "particles": c.Particles, "scaled_radius": c.Radius, "seed": c.Seed,
		"include_scores": true, "stream": true, "filters": filters, "scores": c.Scores,
	}
	if c.FromNothing {
		body["smi"] = []string{}
	}
	if c.MinSimilarity != nil {
		body["min_similarity"] = *c.MinSimilarity
	}
	isComplete := false
	err = s.Stream(ctx, "/latent/generate", body, func(data []byte) error {
		var event struct {
			searchResult
			Iteration int `json:"iteration"`
			Best      *struct {
				Score float64 `json:"score"`
			} `json:"best"`
		}
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		if event.Iteration == 0 {
			result = event.searchResult
			isComplete = true
		} else if event.Best != nil {
			onGeneration(event.Iteration, event.Best.Score)
		}
		return nil
	})
	if err == nil && !isComplete {
		err = &client.UnreachableError{URL: s.URL, Err: client.ErrIncomplete}
	}
	return result, err
}
