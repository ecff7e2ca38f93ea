package masked

import (
	"math"
	"math/rand/v2"
)

// masks draws how many masks each segment has, 0 for given fragments. Together they are as many as the masks of the
// template have, drawn one by one and turned into tokens of the model. A template without masks gets as many as a
// molecule of the training data has tokens, less the given ones, or minAddLen, whichever is more. Every open position
// has at least one.
func (d *drafter) masks(t *Template, l *layout, random *rand.Rand) ([]int, error) {
	room := d.model.MaxTokens() - len(d.model.Frame(nil)) - l.given
	total := 0
	longest := 0 // what total could have been
	for _, mask := range t.Masks {
		total += d.tokens(mask.Least+random.IntN(mask.Most-mask.Least+1), random)
		longest += int(math.Ceil(float64(mask.Most) / d.model.MaskWorth()))
	}
	if len(t.Masks) == 0 {
		length := d.model.Length(random) - l.given
		total = min(max(length, d.tokens(d.minAddLen, random)), max(room, 1))
	}
	counts := make([]int, len(l.segments))
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
		return nil, templateFault("given fragments (%d tokens) and masks (up to %d) are longer than the %d tokens that the model takes",
			l.given, longest, l.given+room)
	}
	for range total - needed {
		counts[gaps[random.IntN(len(gaps))]]++
	}
	return counts, nil
}

// tokens turns a number of mask tokens of the API into one of the model's, rounded up or down at random so that the
// mean is exact, but at least 1.
func (d *drafter) tokens(masks int, random *rand.Rand) int {
	worth := d.model.MaskWorth()
	if worth == 1 {
		return masks
	}
	return max(1, int(float64(masks)/worth+random.Float64()))
}
