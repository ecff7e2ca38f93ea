package masked

import (
	"slices"
	"testing"

	"retort/orchestrator/fault"
)

func TestCachedFragments(t *testing.T) {
	d := &drafter{}
	for number := range 2 * maxCachedEnds {
		fragments := "[*]C"
		for digits := number; digits > 0; digits /= 4 {
			fragments += "CNOS"[digits%4 : digits%4+1]
		}
		first, err := d.cutFragments(fragments)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.cutFragments(fragments); err != nil || len(again) != len(first) {
			t.Errorf("%s: %d ends, then %d (%v)", fragments, len(first), len(again), err)
		}
	}
	cached := 0
	d.ends.Range(func(any, any) bool { cached++; return true })
	if cached != maxCachedEnds {
		t.Errorf("%d cached fragments, want %d", cached, maxCachedEnds)
	}
}

// idModel is a model in which each token stands for as many API tokens as its id says.
type idModel struct{ Model }

func (idModel) APITokens(ids []int32) int {
	total := 0
	for _, id := range ids {
		total += int(id)
	}
	return total
}

// Rows are selected by the length of what replaced their masks, without the dots to given fragments.
func TestNearestRows(t *testing.T) {
	masksOnly := []part{{from: 1, to: 3}}
	withFragment := []part{{given: "c1ccccc1*", from: 1, to: 2}, {from: 2, to: 3}}
	drafts := []*draft{
		{parts: masksOnly, wanted: 10},
		{parts: masksOnly, wanted: 10},
		{parts: masksOnly, wanted: 10},
		{parts: withFragment, wanted: 5, dots: 1, group: 1},
		{parts: withFragment, wanted: 5, dots: 1, group: 1},
		{parts: masksOnly, wanted: 4, group: 2},
	}
	rows := [][]int32{{0, 3, 4, 0}, {0, 4, 5, 0}, {0, 6, 5, 0}, {0, 50, 5, 0}, {0, 50, 6, 0}, {0, 9, 9, 0}}
	nearest, ids := nearestRows(idModel{}, drafts, rows)
	want := []*draft{drafts[1], drafts[4], drafts[5]}
	if !slices.Equal(nearest, want) || len(ids) != 3 || &ids[1][0] != &rows[4][0] {
		t.Errorf("selected %v of %v", ids, rows)
	}
}

func TestOpenPositionWithinFragment(t *testing.T) {
	for _, fragments := range []string{"c1ccccc1[*]c1ccccc1", "*1CCCCC1"} {
		ends, err := new(drafter).cutFragments(fragments)
		if f := fault.As(err); f == nil || f.Kind != fault.Invalid || f.Field() != "smiles" {
			t.Errorf("%s: %v, %v", fragments, ends, err)
		}
	}
}
