package masked

import (
	"slices"
	"testing"
)

// counted is a model of which every token stands for as many published ones as its id says.
type counted struct{ Model }

func (counted) Published(ids []int32) int {
	total := 0
	for _, id := range ids {
		total += int(id)
	}
	return total
}

// TestNearestAddition takes of each group the row whose masks became what is nearest to the length asked for, dots to
// given fragments not counted.
func TestNearestAddition(t *testing.T) {
	alone := []part{{from: 1, to: 3}}
	beside := []part{{given: "c1ccccc1*", from: 1, to: 2}, {from: 2, to: 3}}
	drafts := []*draft{
		{parts: alone, added: 10},
		{parts: alone, added: 10},
		{parts: alone, added: 10},
		{parts: beside, added: 5, dots: 1, group: 1},
		{parts: beside, added: 5, dots: 1, group: 1},
		{parts: alone, added: 4, group: 2},
	}
	rows := [][]int32{{0, 3, 4, 0}, {0, 4, 5, 0}, {0, 6, 5, 0}, {0, 50, 5, 0}, {0, 50, 6, 0}, {0, 9, 9, 0}}
	taken, filled := nearest(counted{}, drafts, rows)
	if !slices.Equal(taken, []*draft{drafts[1], drafts[4], drafts[5]}) || &filled[1][0] != &rows[4][0] || len(filled) != 3 {
		t.Errorf("taken %v of %v", filled, rows)
	}
}
