package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"retort/chem"
	"retort/orchestrator/client"
)

// molecules reads the distinct molecules of the file. Lines that are no molecules are reported and left out.
func (c *compareCommand) molecules(p *Process) ([]*chem.Molecule, error) {
	kind := moleculeRows
	kind.check = nil // below
	source, err := inputFlags{File: c.File}.source(p, kind, nil)
	if err != nil {
		return nil, err
	}
	var found []*chem.Molecule
	seen := map[string]bool{}
	for row, err := range source.rows() {
		if err == nil {
			err = context.Cause(p.Context)
		}
		if err != nil {
			return nil, err
		}
		m, err := parseRow(kind, &row)
		switch {
		case err != nil:
			p.report("%s: line %d is left out: %v", c.File, row.line, err)
		case !seen[m.SMILES()]:
			seen[m.SMILES()] = true
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no molecules", c.File)
	}
	return found, nil
}

func parseRow(kind rowKind, row *inputRow) (*chem.Molecule, error) {
	if err := kind.prepare(row); err != nil {
		return nil, err
	}
	return chem.Parse(row.text)
}

// latent measures how well a molecule returns from its hidden state. A molecule that a model cannot read counts as one
// that does not return.
func (c *compareCommand) latent(p *Process, s *client.Service) (*measurement, error) {
	molecules, err := c.molecules(p)
	if err != nil {
		return nil, err
	}
	molecules = draw(c, molecules)
	rows := len(molecules)
	m := &measurement{
		names: []string{"identical", "similarity", "valid"}, rows: rows, unit: "molecules", isPaired: true,
		work: rows,
	}
	const batch = 64
	m.measure = func(ctx context.Context, model string, onDone func(int)) ([][]float64, error) {
		values := newValues(len(m.names), rows)
		err := inBatches(ctx, rows, batch, func(ctx context.Context, start, end int) error {
			decoded, err := roundTrip(ctx, s, model, molecules[start:end])
			if err != nil {
				return err
			}
			for i, result := range decoded {
				if result.Err == nil {
					given := molecules[start+i]
					values[0][start+i] = share(result.Molecule.SMILES() == given.SMILES())
					values[1][start+i] = chem.Similarity(result.Molecule, given)
					values[2][start+i] = 1
				}
			}
			onDone(end - start)
			return nil
		})
		return values, err
	}
	return m, nil
}

// errNotDecoded is the result of a molecule that the model cannot read.
var errNotDecoded = errors.New("not decoded")

// roundTrip encodes molecules and decodes their hidden states.
func roundTrip(
	ctx context.Context, s *client.Service, model string, molecules []*chem.Molecule,
) ([]chem.Result, error) {
	smiles := make([]string, len(molecules))
	for i, m := range molecules {
		smiles[i] = m.SMILES()
	}
	var encoded struct {
		Hiddens []json.RawMessage `json:"hiddens"`
		Mask    []json.RawMessage `json:"mask"`
	}
	body := map[string]any{"sequences": smiles, "skip_invalid": true, "model": model}
	if err := s.Post(ctx, "/latent/hidden", body, &encoded); err != nil {
		return nil, err
	}
	var decoded struct{ Generated []*string }
	body = map[string]any{"hiddens": encoded.Hiddens, "mask": encoded.Mask, "model": model}
	if err := s.Post(ctx, "/latent/decode", body, &decoded); err != nil {
		return nil, err
	}
	if len(decoded.Generated) != len(smiles) {
		return nil, errAnswerCount(len(decoded.Generated), len(smiles))
	}
	results := make([]chem.Result, len(smiles))
	for i, text := range decoded.Generated {
		results[i].Err = errNotDecoded
		if text != nil {
			results[i].Molecule, results[i].Err = chem.Parse(*text)
		}
	}
	return results, nil
}

// The bounds of quality (GenMol, arXiv 2501.06158, section 5.1).
const (
	leastQED = 0.6
	mostSA   = 4
)

// maskedNames are the figures of masked models. All but nearest are GenMol's.
var maskedNames = []string{"valid", "as written", "unique", "quality", "diversity", "nearest"}

// masked measures molecules that a model generates with the default settings of the API, each drawn once.
func (c *compareCommand) masked(p *Process, s *client.Service) (*measurement, error) {
	known, err := c.molecules(p)
	if err != nil {
		return nil, err
	}
	rows := c.Rows
	if rows == 0 {
		rows = len(known)
	}
	fingerprints := make([]chem.Fingerprint, len(known))
	for i, m := range known {
		fingerprints[i] = m.Fingerprint()
	}
	const batch = 50
	m := &measurement{names: maskedNames, rows: rows, unit: "samples", work: rows}
	m.measure = func(ctx context.Context, model string, onDone func(int)) ([][]float64, error) {
		generated := make([][]generatedMolecule, (rows+batch-1)/batch)
		err := inBatches(ctx, rows, batch, func(ctx context.Context, start, end int) error {
			found, err := generate(ctx, s, model, end-start, start)
			generated[start/batch] = found
			onDone(end - start)
			return err
		})
		if err != nil {
			return nil, err
		}
		return judge(ctx, rows, generated, fingerprints)
	}
	return m, nil
}

// generatedMolecule is a valid molecule of a masked model.
type generatedMolecule struct {
	SMILES string `json:"smiles"`
	Scores struct {
		QED              float64
		SA               float64
		DecodedAsWritten bool `json:"decoded_as_written"`
	} `json:"scores"`
}

// generate draws a number of molecules, and returns the valid ones.
func generate(ctx context.Context, s *client.Service, model string, count, seed int) ([]generatedMolecule, error) {
	body := map[string]any{
		"model": model, "num_molecules": count, "seed": seed, "attempts": 1, "unique": false, "scores": true,
	}
	var response struct{ Molecules []generatedMolecule }
	if err := s.Post(ctx, "/masked/generate", body, &response); err != nil {
		return nil, err
	}
	if len(response.Molecules) > count {
		return nil, errAnswerCount(len(response.Molecules), count)
	}
	return response.Molecules, nil
}

// judge returns the values of the figures maskedNames. valid, as written and quality have a value for each sample,
// unique one for each valid sample, and the others one for each distinct molecule.
func judge(
	ctx context.Context, rows int, generated [][]generatedMolecule, known []chem.Fingerprint,
) ([][]float64, error) {
	values := make([][]float64, len(maskedNames))
	seen := map[string]bool{}
	var distinct []chem.Fingerprint
	for _, batch := range generated {
		for _, g := range batch {
			m, err := chem.Parse(g.SMILES)
			if err != nil {
				return nil, fmt.Errorf("unexpected answer: %w", err)
			}
			isNew := !seen[m.SMILES()]
			seen[m.SMILES()] = true
			values[0] = append(values[0], 1)
			values[1] = append(values[1], share(g.Scores.DecodedAsWritten))
			values[2] = append(values[2], share(isNew))
			values[3] = append(values[3], share(isNew && g.Scores.QED >= leastQED && g.Scores.SA <= mostSA))
			if isNew {
				distinct = append(distinct, m.Fingerprint())
			}
		}
	}
	for _, perSample := range []int{0, 1, 3} {
		values[perSample] = append(values[perSample], make([]float64, rows-len(values[perSample]))...)
	}
	values[4] = make([]float64, len(distinct))
	values[5] = make([]float64, len(distinct))
	err := onAllCores(ctx, len(distinct), func(i int) {
		sum := 0.0
		for j := range distinct {
			if i != j {
				sum += 1 - distinct[i].Tanimoto(&distinct[j])
			}
		}
		values[4][i] = sum / float64(max(1, len(distinct)-1))
		for j := range known {
			values[5][i] = max(values[5][i], distinct[i].Tanimoto(&known[j]))
		}
	})
	return values, err
}

// share returns the share that a row adds to the mean of a figure that counts rows.
func share(counts bool) float64 {
	if counts {
		return 1
	}
	return 0
}

// newValues returns zeros for each figure and row.
func newValues(figures, rows int) [][]float64 {
	values := make([][]float64, figures)
	for i := range values {
		values[i] = make([]float64, rows)
	}
	return values
}
