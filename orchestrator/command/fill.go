package command

import (
	"context"
	"errors"

	"retort/orchestrator/client"
)

type fillCommand struct {
	Templates []string `arg:"" optional:"" name:"template" help:"SAFE or SMILES with masks, such as 'c1ccccc1.[*{5-10}]', or a file of them."`

	rowFlags     `embed:""`
	serviceFlags `embed:"" group:"Service"`

	Objective   string  `env:"-" default:"QED" placeholder:"WHAT" help:"How to score the molecules: by a name, several names separated by commas, JSON, or a JSON file. /masked/docs describes objectives."`
	Count       int     `short:"n" env:"-" default:"10" help:"Molecules to generate for each template."`
	Rounds      int     `env:"-" default:"0" help:"Rounds that improve the best molecules after the first generation."`
	Temperature float64 `env:"-" default:"1" help:"Sampling temperature: higher is more varied."`
	Noise       float64 `env:"-" default:"0" help:"Noise on the confidence in tokens: higher is more varied."`
	Unique      bool    `env:"-" default:"true" negatable:"" help:"Return each molecule only once."`
	Seed        *int64  `env:"-" placeholder:"N" help:"Seed of the random numbers, to get the same molecules again."`
}

func (fillCommand) Help() string {
	return "The given fragments of a template stay.\n\n" +
		"  retort fill 'C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]' --count 5\n" +
		"  retort fill '[*{20-30}]' -n 100 -o new.sdf"
}

func (c *fillCommand) Run(p *Process, s *client.Service) error {
	objective, err := parseObjective(c.Objective)
	if err != nil {
		return err
	}
	fill := func(ctx context.Context, rows []inputRow) ([]answer, error) {
		filled, err := c.fill(ctx, s, objective, rows[0])
		return []answer{filled}, err
	}
	return c.run(p, c.Templates, &pipeline{
		kind: templateRows, activity: "filling", batchSize: 1, hasMolecules: true, request: fill,
	})
}

func (c *fillCommand) fill(ctx context.Context, s *client.Service, objective any, row inputRow) (answer, error) {
	body := map[string]any{
		"smiles": row.text, "objective": objective, "num_molecules": c.Count, "rounds": c.Rounds,
		"temperature": c.Temperature, "noise": c.Noise, "unique": c.Unique, "seed": c.Seed, "scores": true,
	}
	var response struct {
		Molecules []struct {
			Smiles string  `json:"smiles"`
			Score  float64 `json:"score"`
			Scores struct {
				QED             float64 `json:"QED"`
				LogP            float64 `json:"LogP"`
				SA              float64 `json:"SA"`
				TPSA            float64 `json:"TPSA"`
				MolecularWeight float64 `json:"molecular_weight"`
			} `json:"scores"`
		} `json:"molecules"`
	}
	if err := s.Post(ctx, "/masked/generate", body, &response); err != nil {
		return answer{}, err
	}
	if len(response.Molecules) == 0 {
		return answer{err: errors.New("no molecule was found")}, nil
	}
	var filled answer
	for i, m := range response.Molecules {
		filled.records = append(filled.records, row.record(
			field{"smiles", m.Smiles},
			field{"number", i + 1},
			field{"score", m.Score},
			field{"qed", m.Scores.QED},
			field{"logp", m.Scores.LogP},
			field{"sa", m.Scores.SA},
			field{"tpsa", m.Scores.TPSA},
			field{"molecular_weight", m.Scores.MolecularWeight},
		))
	}
	return filled, nil
}
