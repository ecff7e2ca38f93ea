package chem_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"retort/chem"
	"retort/chem/safe"
)

var oracle = flag.String("oracle", "testdata/golden.jsonl",
	"golden values from scripts/golden/chem.py")

// golden is one line of the oracle; see scripts/golden/chem.py.
type golden struct {
	SMILES, Canonical, Formula, Murcko, Largest, Error string

	Atom          *int
	Heavy, Rings  int
	Weight, LogP  float64
	TPSA, QED     float64
	SA            *float64
	Tanimoto      *float64
	QEDProperties [8]float64 `json:"qed_properties"`
	Bits          []int
	BRICS         [][4]any
	PlogpNorm     float64 `json:"plogp_norm"`
}

func readOracle(t *testing.T, path string) []golden {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var source io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if source, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	var rows []golden
	for lines := bufio.NewReader(source); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return rows
		}
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatalf("line %d: %v", len(rows)+1, err)
		}
		rows = append(rows, g)
	}
}

// comparison records the largest difference and the number of differing rows per property.
type comparison struct {
	t       *testing.T
	largest map[string]float64
	differ  map[string]int
}

func (c *comparison) number(row golden, what string, got, want float64) {
	d := math.Abs(got - want)
	if old, seen := c.largest[what]; !seen || !(d <= old) {
		c.largest[what] = d
	}
	if !(d <= 1e-9) {
		c.fail(row, what, got, want)
	}
}

func (c *comparison) equal(row golden, what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		c.fail(row, what, got, want)
	}
}

func (c *comparison) fail(row golden, what string, got, want any) {
	if c.differ[what]++; c.differ[what] <= 5 {
		c.t.Errorf("%s of %s: got %v, want %v", what, row.SMILES, got, want)
	}
}

func (c *comparison) failure(row golden, err error) {
	kind := "other"
	var syntax *chem.SyntaxError
	var valence *chem.ValenceError
	var kekulize *chem.KekulizeError
	switch {
	case errors.As(err, &syntax):
		kind = "syntax"
		if syntax.Position < 0 {
			c.t.Errorf("%s: refused, but not located: %v", row.SMILES, err)
		}
	case errors.As(err, &valence):
		kind = "valence"
		c.equal(row, "atom", valence.Atom, *row.Atom)
	case errors.As(err, &kekulize):
		kind = "kekulize"
		if row.Atom != nil {
			c.equal(row, "atom", kekulize.Atom, *row.Atom)
		}
	case errors.Is(err, chem.ErrEmpty):
		kind = "empty"
	}
	c.equal(row, "error", kind, row.Error)
}

func (c *comparison) molecule(row golden, m, before *chem.Molecule) {
	c.equal(row, "canonical", m.SMILES(), row.Canonical)
	c.equal(row, "formula", m.Formula(), row.Formula)
	c.equal(row, "heavy atoms", m.HeavyAtoms(), row.Heavy)
	c.equal(row, "rings", m.Rings(), row.Rings)
	c.number(row, "weight", m.Weight(), row.Weight)
	c.number(row, "logP", m.LogP(), row.LogP)
	c.number(row, "TPSA", m.TPSA(), row.TPSA)
	c.number(row, "QED", m.QED(), row.QED)
	q := m.QEDProperties()
	for i, got := range []float64{q.Weight, q.LogP, float64(q.Acceptors), float64(q.Donors), q.PSA,
		float64(q.Rotatable), float64(q.AromaticRings), float64(q.Alerts)} {
		name := []string{"MW", "ALOGP", "HBA", "HBD", "PSA", "ROTB", "AROM", "ALERTS"}[i]
		c.number(row, "QED "+name, got, row.QEDProperties[i])
	}
	if row.SA != nil {
		c.number(row, "SA", m.SA(), *row.SA)
		c.number(row, "plogp normalized", m.PenalizedLogP(), row.PlogpNorm)
	} else if !math.IsNaN(m.SA()) {
		c.fail(row, "SA", m.SA(), "NaN")
	}
	f := m.Fingerprint()
	c.equal(row, "fingerprint", onBits(f[:]), row.Bits)
	c.parts(row, m)
	if row.Tanimoto != nil {
		c.number(row, "Tanimoto", chem.Similarity(m, before), *row.Tanimoto)
	}
}

func (c *comparison) parts(row golden, m *chem.Molecule) {
	scaffold := row.Murcko
	if scaffold == "" {
		scaffold = "C" // the golden value of a molecule without rings, which is the scaffold of any such molecule
	}
	panel, err := chem.NewPanel(chem.Measure{Kind: chem.SameScaffold, About: scaffold})
	if err != nil {
		c.fail(row, "scaffold", err, row.Murcko)
		return
	}
	same, err := panel.Measure(c.t.Context(), []*chem.Molecule{m})
	if err != nil || same[0][0] != 1 {
		c.fail(row, "scaffold", same, row.Murcko)
	}
	// Without stereo and dummies, SAFE cuts all BRICS bonds, and each cut adds a fragment.
	if !strings.ContainsAny(row.Canonical, `@/\\*`) {
		fragments, err := safe.Cut(row.SMILES, safe.BRICS)
		if err != nil {
			c.fail(row, "BRICS", err, row.BRICS)
		}
		c.equal(row, "BRICS cuts", len(fragments)-1-strings.Count(row.Canonical, "."), len(row.BRICS))
	}
	largest, err := chem.LargestFragment(row.SMILES)
	if err != nil {
		c.fail(row, "largest", err, row.Largest)
	}
	c.equal(row, "largest", largest, row.Largest)
}

func onBits(words []uint64) []int {
	on := []int{}
	for i := range len(words) * 64 {
		if words[i/64]>>(i%64)&1 == 1 {
			on = append(on, i)
		}
	}
	return on
}

// TestOracle compares the results with Python RDKit of the same version. With
//
//	go test ./chem -run Oracle -v -oracle /tmp/big.jsonl.gz
//
// it reads another file and logs the largest differences.
func TestOracle(t *testing.T) {
	rows := readOracle(t, *oracle)
	smiles := make([]string, len(rows))
	for i, row := range rows {
		smiles[i] = row.SMILES
	}
	results, err := chem.Evaluate(context.Background(), smiles, allFacts)
	if err != nil {
		t.Fatal(err)
	}
	c := &comparison{t, map[string]float64{}, map[string]int{}}
	var before *chem.Molecule
	refused := 0
	for i, row := range rows {
		m, err := results[i].Molecule, results[i].Err
		switch {
		case err != nil:
			refused++
			c.failure(row, err)
		case row.Error != "":
			c.fail(row, "error", m, row.Error)
		default:
			c.molecule(row, m, before)
			before = m
		}
	}
	t.Logf("%d molecules, %d refused; largest differences: %v; rows that differ: %v",
		len(rows), refused, c.largest, c.differ)
}
