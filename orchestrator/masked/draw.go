package masked

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// draft is a row and what is needed to read the molecule that comes of it.
type draft struct {
	row   Row
	parts []part
}

// part is a stretch of a draft's row: its tokens from..to-1.
type part struct {
	given    string // the given fragments, stereo kept; "" for masks
	from, to int
}

// maker draws drafts: everything random about a row but its unmasking.
type maker struct {
	model     Model
	settings  Settings
	minAddLen int
	cuts      sync.Map // given fragments, opened, to their []chem.End
}

// mostOpened is how many positions are opened on a lone fragment that has none
// at most, as GenMol's superstructure generation does.
const mostOpened = 3

// draft draws one molecule's row from a template. The same random numbers make
// the same row.
func (m *maker) draft(t *Template, random *rand.Rand) (*draft, error) {
	strands, given, err := m.strands(t, random)
	if err != nil {
		return nil, err
	}
	masks, err := m.masks(t, given, strands, random)
	if err != nil {
		return nil, err
	}
	d := &draft{}
	var ids []int32
	for i, s := range strands {
		p := part{given: s.given, from: 1 + len(ids)} // after [BOS]
		for range masks[i] {
			ids = append(ids, m.model.Mask())
		}
		more, err := m.model.Encode(flat(s.given))
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
		p.to = 1 + len(ids)
		d.parts = append(d.parts, p)
	}
	d.row = Row{IDs: m.model.Frame(ids), Settings: m.settings, Seed: int64(random.Uint64() >> 2)}
	return d, nil
}

// strands writes the given fragments as the model reads them, cut at BRICS
// bonds, with the gaps between them, and counts their tokens.
func (m *maker) strands(t *Template, random *rand.Rand) (strands []strand, given int, err error) {
	if len(t.Given) == 0 {
		return []strand{{least: 1}}, 0, nil
	}
	smiles, err := opened(t.Given, random)
	if err != nil {
		return nil, 0, err
	}
	ends, ok := m.cuts.Load(smiles)
	if !ok {
		cut, err := chem.Ends(smiles, chem.BRICS)
		if err != nil {
			return nil, 0, templateFault("%v", err)
		}
		ends, _ = m.cuts.LoadOrStore(smiles, cut)
	}
	strands = nest(ends.([]chem.End), random)
	for _, s := range strands {
		ids, err := m.model.Encode(flat(s.given))
		var unknown *tokenizers.TokenError
		if errors.As(err, &unknown) {
			return nil, 0, templateFault("the model does not know the token %q of the given fragments %s", unknown.Token, smiles)
		}
		if err != nil {
			return nil, 0, err
		}
		given += len(ids)
	}
	return strands, given, nil
}

// opened joins the given fragments to one text and opens positions on those
// that have none: one that has no open position could not stay.
func opened(given []string, random *rand.Rand) (string, error) {
	parts := make([]string, len(given))
	for i, part := range given {
		seed, count := random.Uint64(), 1
		if len(given) == 1 {
			count += random.IntN(mostOpened)
		}
		if !strings.Contains(part, "*") {
			var err error
			if part, err = chem.OpenPositions(part, count, seed); err != nil {
				return "", templateFault("%v", err)
			}
			if !strings.Contains(part, "*") {
				return "", templateFault("the fragment %s has no position with a hydrogen to bond to; mark one with [*]", given[i])
			}
		}
		parts[i] = part
	}
	return strings.Join(parts, "."), nil
}

// masks draws how many masks each gap has: together as many as the masks of the
// template have, drawn one by one and turned into tokens of the model. A template
// without masks gets as many as a molecule of the training data, less the given
// tokens, or minAddLen, whichever is more. Every open position has at least one.
func (m *maker) masks(t *Template, given int, strands []strand, random *rand.Rand) ([]int, error) {
	room, total, most := m.model.MaxTokens()-2-given, 0, 1
	if len(t.Masks) == 0 {
		total = min(max(m.model.Length(random)-given, m.tokens(m.minAddLen, random)), max(room, 1))
	}
	for _, mask := range t.Masks {
		total += m.tokens(mask.Least+random.IntN(mask.Most-mask.Least+1), random)
		most += int(math.Ceil(float64(mask.Most) / m.model.MaskWorth()))
	}
	counts, least, gaps := make([]int, len(strands)), 0, []int{}
	for i, s := range strands {
		if s.given == "" {
			counts[i], gaps = s.least, append(gaps, i)
			least += s.least
		}
	}
	if most = max(most-1, least); most > room {
		return nil, templateFault("given fragments (%d tokens) and masks (up to %d) are longer than the %d tokens that the model takes", given, most, m.model.MaxTokens()-2)
	}
	for range total - least {
		counts[gaps[random.IntN(len(gaps))]]++
	}
	return counts, nil
}

// tokens turns a number of mask tokens of the API into one of the model's,
// rounded at random so that the mean stays.
func (m *maker) tokens(masks int, random *rand.Rand) int {
	worth := m.model.MaskWorth()
	if worth == 1 {
		return masks
	}
	return max(1, int(float64(masks)/worth+random.Float64()))
}

func templateFault(format string, args ...any) error {
	return fault.Field("value_error", nil, []any{"smiles"}, format, args...)
}

// drafts draws a row for each template. Row i depends on the seed, the turn and
// i alone, so that the answer does not depend on how the work is shared.
func (m *maker) drafts(ctx context.Context, templates []*Template, seed uint64, turn int) ([]*draft, error) {
	return spread(ctx, len(templates), func(i int) (*draft, error) {
		return m.draft(templates[i], rand.New(rand.NewPCG(seed, uint64(turn)<<32|uint64(i))))
	})
}
