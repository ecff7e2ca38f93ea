package masked

import (
	"math/rand/v2"
	"slices"
)

// An addition is what the model puts in place of the masks of a row. Since a token of the model stands for about five
// API tokens, an addition is often longer or shorter than wanted: a short one because few tokens leave few choices, a
// long one because they are rare in the training data. So a pass draws several rows for each molecule, and takes the
// row with the addition nearest to the wanted length.
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

// oversampling returns the number of rows to draw from the template for each molecule.
func (t *Template) oversampling() int {
	maximum := t.maxMaskTokens()
	switch {
	case len(t.masks) == 0:
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

// maskLengthSeed separates the random numbers of mask lengths from the random numbers of rows.
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

// lengthError is the absolute difference, in API tokens, between the length of an addition and the wanted length. The
// dots that join masks to given fragments do not count.
func (d *draft) lengthError(model Model, ids []int32) int {
	length := -d.dots
	for _, p := range d.parts {
		if p.given == "" {
			length += model.APITokens(ids[p.from:p.to])
		}
	}
	return max(length-d.wanted, d.wanted-length)
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
