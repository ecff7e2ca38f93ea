package command

import (
	"context"
	"errors"
)

// Fill is retort fill.
type Fill struct {
	Templates []string `arg:"" optional:"" name:"template" help:"SAFE or SMILES with masks, such as 'c1ccccc1.[*{5-10}]', or a file of them."`

	Input   `embed:"" group:"Input"`
	Output  `embed:"" group:"Output"`
	Service `embed:"" group:"Service"`

	Objective   string  `env:"-" default:"QED" placeholder:"WHAT" help:"What molecules are ranked by: a name, several with commas between them, JSON, or a file of JSON (ORACLES.md and /masked/docs describe it)."`
	Count       int     `short:"n" env:"-" default:"10" help:"Molecules to draw for each template."`
	Rounds      int     `env:"-" default:"0" help:"Rounds of improvement of the best ones that follow the first generation."`
	Temperature float64 `env:"-" default:"1" help:"Divides the logits: more is more varied."`
	Noise       float64 `env:"-" default:"0" help:"Added to the confidence in tokens: more is more varied."`
	Unique      bool    `env:"-" default:"true" negatable:"" help:"Each molecule once."`
	Seed        *int64  `env:"-" placeholder:"N" help:"Seed of the random numbers, for the same molecules again."`
}

// Help is the longer text of --help.
func (Fill) Help() string {
	return "Fills the masks of templates; given fragments stay.\n\n" +
		"  retort fill 'C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]' --count 5\n  retort fill '[*{20-30}]' -n 100 -o new.sdf"
}

// Run fills.
func (c *Fill) Run(p *Process) error {
	goal, err := objective(c.Objective)
	if err != nil {
		return err
	}
	return overService(p, c.Input, c.Output, c.Service, templates, c.Templates, "smiles", func(j *job, s service) {
		j.verb = "filling"
		j.size = 1
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			var said struct {
				Molecules []struct {
					Smiles string  `json:"smiles"`
					Score  float64 `json:"score"`
					Scores struct {
						QED    float64 `json:"QED"`
						LogP   float64 `json:"LogP"`
						SA     float64 `json:"SA"`
						TPSA   float64 `json:"TPSA"`
						Weight float64 `json:"molecular_weight"`
					} `json:"scores"`
				} `json:"molecules"`
			}
			err := s.Post(ctx, "/masked/generate", map[string]any{
				"smiles": rows[0].Text, "objective": goal, "num_molecules": c.Count, "rounds": c.Rounds, "temperature": c.Temperature,
				"noise": c.Noise, "unique": c.Unique, "seed": c.Seed, "scores": true,
			}, &said)
			if err != nil {
				return nil, err
			}
			var found answer
			for i, m := range said.Molecules {
				found.records = append(found.records, rows[0].record(
					Field{"smiles", m.Smiles}, Field{"number", i + 1}, Field{"score", m.Score}, Field{"qed", m.Scores.QED}, Field{"logp", m.Scores.LogP},
					Field{"sa", m.Scores.SA}, Field{"tpsa", m.Scores.TPSA}, Field{"molecular_weight", m.Scores.Weight}))
			}
			if len(found.records) == 0 {
				found.err = errors.New("no molecule was found")
			}
			return []answer{found}, nil
		}
	})
}
