package search

import (
	"context"
	"errors"
	"testing"
	"time"

	"retort/chem"
	"retort/chem/cores/corestest"
)

const (
	gefitinib = "COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1"
	erlotinib = "C#Cc1cccc(Nc2ncnc3cc(OCCOC)c(OCCOC)cc23)c1"
	benzene   = "c1ccccc1"
)

// reader is a model that can read all molecules.
type reader struct{ Model }

func (reader) Tokens(string) ([]int32, error) { return nil, nil }

func end(t *testing.T, smiles string) Seed {
	t.Helper()
	m, err := chem.Parse(smiles)
	if err != nil {
		t.Fatal(err)
	}
	return NewSeed(m, nil)
}

func walk(t *testing.T, first, last Seed) (stops []string) {
	t.Helper()
	path, err := newPath(t.Context(), reader{}, first, last)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 50 {
		if at := path.at(float64(step) / 49); len(stops) == 0 || stops[len(stops)-1] != at {
			stops = append(stops, at)
		}
	}
	return stops
}

func TestAPathLeadsFromEndToEnd(t *testing.T) {
	first := end(t, gefitinib)
	last := end(t, erlotinib)
	stops := walk(t, first, last)
	if len(stops) < 15 || stops[0] != first.SMILES || stops[len(stops)-1] != last.SMILES {
		t.Fatalf("%d molecules, from %s to %s", len(stops), stops[0], stops[len(stops)-1])
	}
	toFirst := 1.
	toLast := 0.
	for _, smiles := range stops {
		m, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		fingerprint := m.Fingerprint()
		a := fingerprint.Tanimoto(&first.Fingerprint)
		b := fingerprint.Tanimoto(&last.Fingerprint)
		if a > toFirst || b < toLast {
			t.Errorf("%s: similarities %.2f, %.2f after %.2f, %.2f", smiles, a, b, toFirst, toLast)
		}
		toFirst, toLast = a, b
	}
}

func TestAPathIsDeterministic(t *testing.T) {
	a := walk(t, end(t, gefitinib), end(t, benzene))
	b := walk(t, end(t, gefitinib), end(t, benzene))
	if len(a) != len(b) {
		t.Fatalf("%d and %d molecules", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("stop %d is %s and %s", i, a[i], b[i])
		}
	}
}

func TestAPathFromAMoleculeToItself(t *testing.T) {
	if stops := walk(t, end(t, benzene), end(t, benzene)); len(stops) != 1 || stops[0] != benzene {
		t.Error(stops)
	}
}

// newPath waits for a core, even between equal ends, and gives it back.
func TestAPathHoldsACore(t *testing.T) {
	release := corestest.TakeAll(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := newPath(ctx, reader{}, end(t, benzene), end(t, benzene))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("newPath did not wait while all cores were taken: error %v", err)
	}
	release()
	if _, err := newPath(t.Context(), reader{}, end(t, gefitinib), end(t, erlotinib)); err != nil {
		t.Error(err)
	}
	corestest.TakeAll(t)()
}
