package masked

import (
	"math/rand/v2"
	"slices"
)

// A token of the model stands for about five API tokens, so an addition is often longer or shorter than its masks ask
// for: short ones because few tokens leave few choices, long ones because they are rare in the training data. So
// several rows are drawn for each molecule, and the one whose addition is nearest to the asked length is taken.
//
// These factors divide streamedRows, so that a part of a stream has whole groups. Bounds are in API tokens of masks.
const (
	tinyAddition    = 10 // upper bound
	tinyOversample  = 8
	shortAddition   = 20 // upper bound
	shortOversample = 4
	longAddition    = 45 // lower bound
	longOversample  = 4
	otherOversample = 2
)

// oversampling returns how many rows to draw from the template for each molecule.
func (t *Template) oversampling() int {
	maximum := t.maxMaskTokens()
	switch {
	case len(t.Masks) == 0:
		return 1
	case maximum <= tinyAddition:
		return tinyOversample
	case maximum <= shortAddition:
		return shortOversample
	case maximum < longAddition:
		return otherOversample
	}
	return longOversample
}

// maskLengthSeed separates the random numbers of mask lengths from those of rows.
const maskLengthSeed = 0x5ba2e

// oversample repeats each template, with its mask lengths drawn, factor times.
func oversample(templates []*Template, factor int, seed uint64, pass int) []*Template {
	if factor == 1 {
		return templates
	}
	all := make([]*Template, 0, len(templates)*factor)
	for i, t := range templates {
		random := rand.New(rand.NewPCG(seed^maskLengthSeed, uint64(pass)<<32|uint64(i)))
		fixed := *t
		fixed.maskLengths = t.drawMaskLengths(random)
		all = append(all, slices.Repeat([]*Template{&fixed}, factor)...)
	}
	return all
}

// lengthError is the absolute difference, in API tokens, between the addition of an unmasked row and the asked length.
// The dots that join masks to given fragments do not count.
func (d *draft) lengthError(model Model, ids []int32) int {
	added := -d.dots
	for _, p := range d.parts {
		if p.given == "" {
			added += model.APITokens(ids[p.from:p.to])
		}
	}
	return max(added-d.added, d.added-added)
}

// nearestRows returns from each group of unmasked rows the one with the least lengthError, the first of equal ones.
// Rows of a group are adjacent.
func nearestRows(model Model, drafts []*draft, rows [][]int32) (nearest []*draft, nearestIDs [][]int32) {
	least := 0
	for i, d := range drafts {
		lengthError := d.lengthError(model, rows[i])
		last := len(nearest) - 1
		switch {
		case last < 0 || nearest[last].group != d.group:
			nearest = append(nearest, d)
			nearestIDs = append(nearestIDs, rows[i])
			least = lengthError
		case lengthError < least:
			nearest[last] = d
			nearestIDs[last] = rows[i]
			least = lengthError
		}
	}
	return nearest, nearestIDs
}
