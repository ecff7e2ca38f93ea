package synthesis

import (
	_ "embed"
	"strings"
	"sync"

	"retort/chem"
	"retort/chem/rdkit"
)

//go:embed templates.tsv
var templateTable string

// Template is a reaction, written from its product to its precursors.
type Template struct {
	Name    string
	SMARTS  string
	Example string // reaction SMILES, from the product to the precursors
}

// Templates returns the built-in templates.
func Templates() []Template {
	var all []Template
	for line := range strings.Lines(templateTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Template{Name: fields[0], SMARTS: fields[1], Example: fields[2]})
	}
	return all
}

// Disconnect returns all reactions that make a molecule, whatever their precursors are.
func Disconnect(smiles string) ([]Step, error) {
	compiled, err := reactions()
	if err != nil {
		return nil, err
	}
	product, err := Canonical(smiles)
	if err != nil {
		return nil, err
	}
	sets, err := compiled.Precursors(product)
	if err != nil {
		return nil, chem.Explain(smiles, err)
	}
	templates := Templates()
	steps := make([]Step, len(sets))
	for i, set := range sets {
		steps[i] = Step{Reaction: templates[set.Reaction].Name, Precursors: set.SMILES, Product: product}
	}
	return steps, nil
}

// reactions are the compiled built-in templates.
var reactions = sync.OnceValues(func() (*rdkit.Reactions, error) {
	var smarts []string
	for _, t := range Templates() {
		smarts = append(smarts, t.SMARTS)
	}
	return rdkit.NewReactions(smarts)
})
