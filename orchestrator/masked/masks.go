package masked

import (
	"math"
	"math/rand/v2"
)

// masks draws how many masks each segment has, 0 for given fragments, and the published length that the molecule is to
// have. What is added is as long as the masks of the template say, drawn one by one. To a template without masks so
// much is added that the whole has the length of a molecule of the training data, or minAddLen, whichever is more.
// Every open position has at least one mask.
func (d *drafter) masks(t *Template, l *layout, random *rand.Rand) (counts []int, published int, err error) {
	room := d.model.MaxTokens() - len(d.model.Row(nil, Wanted{})) - l.given
	added := 0
	longest := 0 // what is added could have been, in tokens of the model
	drawn := t.drawn
	if drawn == nil {
		drawn = t.drawMasks(random)
	}
	for i, mask := range t.Masks {
		added += drawn[i]
		longest += int(math.Ceil(float64(mask.Most) / d.model.MaskWorth()))
	}
	if len(t.Masks) == 0 {
		added = max(d.model.Length(d.quality, random)-l.published, d.minAddLen)
	}
	published = l.published + added
	total := d.tokens(added, published, random)
	counts = make([]int, len(l.segments))
	needed := 0
	var gaps []int
	for i, s := range l.segments {
		if s.Text == "" {
			counts[i] = s.Positions
			needed += s.Positions
			gaps = append(gaps, i)
		}
	}
	if longest = max(longest, needed); longest > room {
		return nil, 0, templateFault("given fragments (%d tokens) and masks (up to %d) are longer than the %d tokens that the model takes",
			l.given, longest, l.given+room)
	}
	for range min(total, room) - needed {
		counts[gaps[random.IntN(len(gaps))]]++
	}
	return counts, published, nil
}

// drawMasks draws how long each mask is, in published tokens.
func (t *Template) drawMasks(random *rand.Rand) []int {
	drawn := make([]int, len(t.Masks))
	for i, mask := range t.Masks {
		drawn[i] = mask.Least + random.IntN(mask.Most-mask.Least+1)
	}
	return drawn
}

// tokens is how many tokens of the model are masked for an addition of a published length to a molecule that is then
// of the length `whole`: their share of the tokens that such a molecule has, but at least one.
func (d *drafter) tokens(added, whole int, random *rand.Rand) int {
	share := float64(added) / float64(max(whole, 1))
	return max(1, int(share*float64(d.model.Tokens(whole, d.quality, random))+random.Float64()))
}
