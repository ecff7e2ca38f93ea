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
	scoreFlags  `embed:""`
	Seed        *int64 `env:"-" placeholder:"N" help:"Seed of the random numbers, to get the same molecules again."`
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
	filters, err := c.filters()
	if err != nil {
		return err
	}
	fill := func(ctx context.Context, rows []inputRow) ([]answer, error) {
		filled, err := c.fill(ctx, p, s, objective, filters, rows[0])
		return []answer{filled}, err
	}
	return c.run(p, c.Templates, &pipeline{
		kind: templateRows, activity: "filling", batchSize: 1, hasMolecules: true, request: fill,
	})
}

// propertyScores are the columns of a molecule without --scores, and their names in the API.
var propertyScores = scoreFlags{Scores: []string{"QED", "LogP", "SA", "TPSA", "molecular_weight"}}

func (c *fillCommand) fill(
	ctx context.Context, p *Process, s *client.Service, objective any, filters []any, row inputRow,
) (answer, error) {
	body := map[string]any{
		"smiles": row.text, "objective": objective, "num_molecules": c.Count, "rounds": c.Rounds,
		"temperature": c.Temperature, "noise": c.Noise, "unique": c.Unique, "seed": c.Seed, "filters": filters,
		"scores": true,
	}
	shown := &propertyScores
	if len(c.Scores) > 0 {
		shown = &c.scoreFlags
		body["scores"] = c.Scores
	}
	var response struct {
		Molecules []struct {
			Smiles string         `json:"smiles"`
			Score  float64        `json:"score"`
			Scores map[string]any `json:"scores"`
			Route  *route         `json:"route"`
		} `json:"molecules"`
		LeftOut *leftOut `json:"left_out"`
	}
	if err := s.Post(ctx, "/masked/generate", body, &response); err != nil {
		return answer{}, err
	}
	response.LeftOut.report(p, row.line)
	if len(response.Molecules) == 0 {
		return answer{err: errors.New("no molecule was found")}, nil
	}
	var filled answer
	for i, m := range response.Molecules {
		fields := []field{{"smiles", m.Smiles}, {"number", i + 1}, {"score", m.Score}}
		filled.records = append(filled.records, row.record(append(fields, shown.fields(m.Scores, m.Route)...)...))
	}
	return filled, nil
}
