package command

import (
	"context"

	"retort/chem"
)

// Describe is retort describe. It needs no service: the properties are those of this program's own chemistry.
type Describe struct {
	Molecules []string `arg:"" optional:"" name:"molecule" help:"SMILES, or a file of them."`

	Input  `embed:"" group:"Input"`
	Output `embed:"" group:"Output"`
}

// Help is the longer text of --help.
func (Describe) Help() string {
	return "Gives the canonical SMILES and properties of molecules, as RDKit defines them. It works without a service.\n\n" +
		"  retort describe 'CC(=O)Oc1ccccc1C(=O)O'\n  retort describe library.sdf --format csv"
}

// counts are the measures that a description has beside what a molecule knows of itself.
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

// Run describes.
func (c *Describe) Run(p *Process) error {
	measures := make([]chem.Measure, len(counts))
	for i, each := range counts {
		measures[i].Kind = each.kind
	}
	panel, err := chem.NewPanel(measures...)
	if err != nil {
		return err
	}
	return overRows(p, c.Input, c.Output, molecules, c.Molecules, "smiles", func(j *job) {
		j.verb = "describing"
		j.size = 128
		j.atOnce = 2
		j.chem = false // they are read by what follows
		j.ask = func(ctx context.Context, rows []Row) ([]answer, error) {
			return described(ctx, panel, rows)
		}
	})
}

func described(ctx context.Context, panel *chem.Panel, rows []Row) ([]answer, error) {
	results, err := chem.Evaluate(ctx, column(rows), chem.Options{Facts: chem.FactFormula | chem.FactLogP | chem.FactTPSA | chem.FactQED | chem.FactSA})
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(rows))
	for i, result := range results {
		if answers[i].err = result.Err; result.Err != nil {
			continue
		}
		m := result.Molecule
		fields := []Field{
			{"smiles", m.SMILES()}, {"formula", m.Formula()}, {"molecular_weight", m.Weight()}, {"logp", m.LogP()}, {"qed", m.QED()},
			{"tpsa", m.TPSA()}, {"sa", m.SA()},
		}
		numbers, err := panel.Measure(ctx, []*chem.Molecule{m})
		if err != nil {
			return nil, err
		}
		for k, each := range counts {
			fields = append(fields, Field{each.name, int(numbers[0][k])})
		}
		answers[i].records = []Record{rows[i].record(fields...)}
	}
	return answers, nil
}
