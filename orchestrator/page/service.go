package page

import (
	"context"
	"math"
	"strconv"
	"strings"

	"retort/chem"
	"retort/orchestrator/fault"
)

// Service answers the page's requests that are not for an API.
type Service struct{ overview func() Overview }

// New returns the service. overview returns what the program serves now.
func New(overview func() Overview) *Service { return &Service{overview: overview} }

// Overview returns what the program serves now.
func (s *Service) Overview(context.Context) (Overview, error) { return s.overview(), nil }

// Describe returns the properties and drawings of molecules.
func (s *Service) Describe(ctx context.Context, r Describe) (Described, error) {
	var depiction chem.Depiction
	if r.Draw != nil {
		depiction = chem.Depiction{Width: r.Draw.Width, Height: r.Draw.Height, Dark: r.Draw.Dark, Transparent: true}
	}
	if r.Reference != "" {
		reference, err := chem.Parse(r.Reference)
		if err != nil {
			return Described{}, notAMolecule(err, "reference")
		}
		depiction.Reference = reference
	}
	if r.Template != "" {
		query, err := fragments(r.Template)
		if err != nil {
			return Described{}, notAMolecule(err, "template")
		}
		depiction.Highlight = query
	}
	facts := chem.FactFormula | chem.FactLogP | chem.FactTPSA | chem.FactQED | chem.FactSA | chem.FactFingerprint
	rows, err := chem.Evaluate(ctx, r.Molecules, facts)
	if err != nil {
		return Described{}, err
	}
	answer := Described{Molecules: make([]Molecule, len(rows))}
	for i, row := range rows {
		if err := ctx.Err(); err != nil { // a drawing cannot be interrupted
			return Described{}, err
		}
		answer.Molecules[i] = describe(row, depiction, r.Draw != nil)
	}
	return answer, nil
}

func describe(row chem.Result, depiction chem.Depiction, draw bool) Molecule {
	if row.Err != nil {
		return Molecule{Error: row.Err.Error()}
	}
	m := row.Molecule
	counts := m.QEDProperties()
	described := Molecule{
		SMILES: m.SMILES(), Formula: m.Formula(), Weight: m.Weight(), LogP: m.LogP(), TPSA: m.TPSA(), QED: m.QED(),
		Acceptors: counts.Acceptors, Donors: counts.Donors, Rotatable: counts.Rotatable, Rings: m.Rings(),
	}
	if sa := m.SA(); !math.IsNaN(sa) {
		described.SA = &sa
	}
	if depiction.Reference != nil {
		fingerprint := m.Fingerprint()
		reference := depiction.Reference.Fingerprint()
		similarity := fingerprint.Tanimoto(&reference)
		described.Similarity = &similarity
	}
	if draw {
		drawing, err := depiction.Draw(m)
		if err != nil {
			return Molecule{Error: err.Error()}
		}
		described.SVG = string(drawing.SVG)
		described.Marked = drawing.Marked
	}
	return described
}

// Write returns molecules as an SD file.
func (s *Service) Write(ctx context.Context, r Records) (File, error) {
	var file strings.Builder
	for i, record := range r.Molecules {
		if err := ctx.Err(); err != nil {
			return File{}, err
		}
		m, err := chem.Parse(record.SMILES)
		if err != nil {
			return File{}, notAMolecule(err, "molecules", i, "smiles")
		}
		properties := make([]chem.Property, len(record.Properties))
		for k, p := range record.Properties {
			properties[k] = chem.Property{Name: p.Name, Value: p.Value}
		}
		title := record.Title
		if title == "" {
			title = "molecule " + strconv.Itoa(i+1)
		}
		text, err := chem.SDRecord(m, title, properties...)
		if err != nil {
			return File{}, notAMolecule(err, "molecules", i, "smiles")
		}
		file.WriteString(text)
	}
	return File{SDF: file.String()}, nil
}

// notAMolecule returns the fault of a text that is not a molecule, at its path in the body.
func notAMolecule(err error, path ...any) *fault.Error {
	return fault.Field("value_error", nil, path, "%s", err.Error())
}
