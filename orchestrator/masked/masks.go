package masked

import (
	"math"
	"math/rand/v2"
)

// drawMaskCounts draws the number of mask tokens of each segment, 0 for given fragments, and the target length of the
// molecule in API tokens. The target is the length of the given fragments plus a length for each mask. A template
// without masks gets one that extends it to the length of a training molecule, but by at least minAddLen. Every open
// position gets at least one mask token.
func (d *drafter) drawMaskCounts(t *Template, l *layout, random *rand.Rand) (counts []int, target int, err error) {
	room := d.model.MaxTokens() - len(d.model.Row(nil, Target{})) - l.tokenCount
	added := 0    // in API tokens
	maxAdded := 0 // upper bound of the masks, in tokens of the model
	lengths := t.maskLengths
	if lengths == nil {
		lengths = t.drawMaskLengths(random)
	}
	for i, mask := range t.masks {
		added += lengths[i]
		maxAdded += int(math.Ceil(float64(mask.most) / d.model.APITokensPerToken()))
	}
	if len(t.masks) == 0 {
		added = max(d.model.DrawLength(d.quality, random)-l.apiTokens, d.minAddLen)
	}
	target = l.apiTokens + added
	total := d.drawAddedTokens(added, target, random)
	counts = make([]int, len(l.segments))
	minimum := 0
	var gaps []int
	for i, s := range l.segments {
		if s.Text == "" {
			counts[i] = s.Positions
			minimum += s.Positions
			gaps = append(gaps, i)
		}
	}
	if maxAdded = max(maxAdded, minimum); maxAdded > room {
		return nil, 0, templateFault(
			"given fragments (%d tokens) and masks (up to %d) are longer than the %d tokens that the model takes",
			l.tokenCount, maxAdded, l.tokenCount+room)
	}
	for range min(total, room) - minimum {
		counts[gaps[random.IntN(len(gaps))]]++
	}
	return counts, target, nil
}

// drawMaskLengths draws the length of each mask, in API tokens.
func (t *Template) drawMaskLengths(random *rand.Rand) []int {
	lengths := make([]int, len(t.masks))
	for i, mask := range t.masks {
		lengths[i] = mask.least + random.IntN(mask.most-mask.least+1)
	}
	return lengths
}

// drawAddedTokens draws the number of mask tokens, at least 1, for an addition in API tokens. Its share of the tokens
// of a molecule of the target length is the share of the addition in that length.
func (d *drafter) drawAddedTokens(added, target int, random *rand.Rand) int {
	fraction := float64(added) / float64(max(target, 1))
	return max(1, roundRandomly(fraction*float64(d.model.DrawTokens(target, d.quality, random)), random))
}
