package masked

import (
	"math/rand/v2"
	"slices"
)

// A token of the model is worth about five of the published ones that masks are counted in, so that an addition is often
// longer or shorter than its masks say: short ones since few tokens are few choices, long ones since they are rare in what
// the model has seen. So more rows are drawn than are wanted, and of each few the one is taken whose addition is nearest
// to the length that was asked for.
//
// The numbers of rows divide streamedRows.
const (
	tinyAddition  = 10 // at most so many masks are tiny
	tinySpares    = 8  // drawn for one that is wanted
	shortAddition = 20
	shortSpares   = 4
	longAddition  = 45 // at least so many masks are long
	longSpares    = 4
	otherSpares   = 2 // of masks neither short nor long
)

// spares is how many rows are drawn from a template for one that is wanted.
func (t *Template) spares() int {
	most := 0
	for _, mask := range t.Masks {
		most += mask.Most
	}
	switch {
	case len(t.Masks) == 0:
		return 1
	case most <= tinyAddition:
		return tinySpares
	case most <= shortAddition:
		return shortSpares
	case most < longAddition:
		return otherSpares
	}
	return longSpares
}

// spareSeed keeps the lengths of masks from being drawn with the random numbers of the rows.
const spareSeed = 0x5ba2e

// withSpares repeats each template, with masks of the same length, as often as rows are drawn for one that is wanted.
func withSpares(templates []*Template, spares int, seed uint64, turn int) []*Template {
	if spares == 1 {
		return templates
	}
	all := make([]*Template, 0, len(templates)*spares)
	for i, t := range templates {
		random := rand.New(rand.NewPCG(seed^spareSeed, uint64(turn)<<32|uint64(i)))
		alike := *t
		alike.drawn = t.drawMasks(random)
		all = append(all, slices.Repeat([]*Template{&alike}, spares)...)
	}
	return all
}

// off is by how many published tokens the addition of an unmasked row is longer or shorter than asked for. The dots that
// join masks to given fragments are not part of the masks.
func (d *draft) off(model Model, ids []int32) int {
	made := -d.dots
	for _, p := range d.parts {
		if p.given == "" {
			made += model.Published(ids[p.from:p.to])
		}
	}
	return max(made-d.added, d.added-made)
}

// nearest takes of each group of unmasked rows the one whose addition is nearest to what was asked for, the first of
// equal ones. The rows of a group stand beside each other.
func nearest(model Model, drafts []*draft, rows [][]int32) (taken []*draft, filled [][]int32) {
	least := 0
	for i, d := range drafts {
		off := d.off(model, rows[i])
		last := len(taken) - 1
		switch {
		case last < 0 || taken[last].group != d.group:
			taken = append(taken, d)
			filled = append(filled, rows[i])
			least = off
		case off < least:
			taken[last] = d
			filled[last] = rows[i]
			least = off
		}
	}
	return taken, filled
}
