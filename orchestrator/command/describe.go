package command

import (
	"context"

	"retort/chem"
)

type describeCommand struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	rowFlags `embed:""`
}

func (describeCommand) Help() string {
	return "The properties are those of RDKit.\n\n" +
		"  retort describe 'CC(=O)Oc1ccccc1C(=O)O'\n  retort describe library.sdf --format csv"
}

// counts are the measures of a description that chem.Molecule has no method for.
var counts = []struct {
	name string
	kind chem.MeasureKind
}{
	{"hydrogen_donors", chem.HydrogenDonors},
	{"hydrogen_acceptors", chem.HydrogenAcceptors},
	{"rotatable_bonds", chem.RotatableBonds},
	{"rings", chem.RingCount},
	{"heavy_atoms", chem.HeavyAtomCount},
}

func (c *describeCommand) Run(p *Process) error {
	measures := make([]chem.Measure, len(counts))
	for i, count := range counts {
		measures[i].Kind = count.kind
	}
	panel, err := chem.NewPanel(measures...)
	if err != nil {
		return err
	}
	kind := moleculeRows
	kind.check = nil // the description parses the molecules
	return c.run(p, c.Molecules, &pipeline{
		kind: kind, activity: "describing", batchSize: 128, concurrency: 3, hasMolecules: true,
		request: func(ctx context.Context, rows []inputRow) ([]answer, error) { return describe(ctx, panel, rows) },
	})
}

func describe(ctx context.Context, panel *chem.Panel, rows []inputRow) ([]answer, error) {
	facts := chem.FactFormula | chem.FactLogP | chem.FactTPSA | chem.FactQED | chem.FactSA
	results, err := chem.Evaluate(ctx, texts(rows), facts)
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(rows))
	for i, result := range results {
		if result.Err != nil {
			answers[i].err = result.Err
			continue
		}
		m := result.Molecule
		fields := []field{
			{"smiles", m.SMILES()},
			{"formula", m.Formula()},
			{"molecular_weight", m.Weight()},
			{"logp", m.LogP()},
			{"qed", m.QED()},
			{"tpsa", m.TPSA()},
			{"sa", m.SA()},
		}
		numbers, err := panel.Measure(ctx, []*chem.Molecule{m})
		if err != nil {
			return nil, err
		}
		for k, count := range counts {
			fields = append(fields, field{count.name, int(numbers[0][k])})
		}
		answers[i].records = []outputRecord{rows[i].record(fields...)}
	}
	return answers, nil
}
