package masked

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// draft is a row and what is needed to read the molecule that comes of it.
type draft struct {
	row   Row
	given string // bracket SAFE of the given fragments, stereo kept
	end   int    // tokens of the row before the first that may be masked
}

// maker draws drafts: everything random about a row but its unmasking.
type maker struct {
	model     Model
	settings  Settings
	minAddLen int
}

// mostOpened is how many positions are opened on a lone fragment that has none
// at most, as GenMol's superstructure generation does.
const mostOpened = 3

// draft draws one molecule's row from a template. The same random numbers make
// the same row.
func (m *maker) draft(t *Template, random *rand.Rand) (*draft, error) {
	d := &draft{}
	ids, err := m.given(d, t, random)
	if err != nil {
		return nil, err
	}
	runs, err := m.runs(t, len(ids), random)
	if err != nil {
		return nil, err
	}
	d.end = 1 + len(ids)
	dot, err := m.model.Encode(".")
	if err != nil {
		return nil, err
	}
	for _, length := range runs {
		if len(ids) > 0 {
			ids = append(ids, dot...)
		}
		for range length {
			ids = append(ids, m.model.Mask())
		}
	}
	d.row = Row{IDs: m.model.Frame(ids), Settings: m.settings, Seed: int64(random.Uint64() >> 2)}
	return d, nil
}

// given writes the given fragments as the model reads them: cut at BRICS bonds,
// pieces in random order, attachment numbers by first appearance.
func (m *maker) given(d *draft, t *Template, random *rand.Rand) ([]int32, error) {
	if len(t.Given) == 0 {
		return nil, nil
	}
	smiles, err := opened(t.Given, random)
	if err != nil {
		return nil, err
	}
	options := chem.EncodeOptions{Brackets: true, ShuffleOrder: true, Seed: random.Uint64()}
	for _, options.Slicer = range []chem.Slicer{chem.BRICS, chem.Whole} {
		safe, err := chem.EncodeSAFE(smiles, options)
		if err != nil {
			return nil, templateFault("%v", err)
		}
		d.given = renumbered(safe)
		ids, err := m.model.Encode(flat(d.given))
		var unknown *tokenizers.TokenError
		switch {
		case err == nil:
			return ids, nil
		case errors.As(err, &unknown) && strings.HasPrefix(unknown.Token, "<") && options.Slicer == chem.BRICS:
			continue // more cuts than the model has numbers for
		case errors.As(err, &unknown):
			return nil, templateFault("the model does not know the token %q of the given fragments %s", unknown.Token, smiles)
		default:
			return nil, err
		}
	}
	return nil, fault.New(fault.Internal, "no slicer is left")
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

// runs draws how many masks each run of a row has, beside that many given
// tokens. A template without masks gets one run: to the length of a molecule
// of the training data, or minAddLen, whichever is more.
func (m *maker) runs(t *Template, given int, random *rand.Rand) ([]int, error) {
	room := m.model.MaxTokens() - 2 - given
	if len(t.Masks) == 0 {
		if given > 0 {
			room-- // the dot
		}
		if room < 1 {
			return nil, templateFault("the given fragments take %d tokens, which leaves no room for a mask: the model takes %d", given, m.model.MaxTokens()-2)
		}
		return []int{min(max(m.model.Length(random)-given, m.minAddLen), room)}, nil
	}
	runs, longest := make([]int, len(t.Masks)), len(t.Masks)-1
	if given > 0 {
		longest++
	}
	for i, mask := range t.Masks {
		runs[i] = mask.Least + mask.Ends + random.IntN(mask.Most-mask.Least+1)
		longest += mask.Most + mask.Ends
	}
	if longest > room {
		return nil, templateFault("given fragments (%d tokens) and masks (up to %d) are longer than the %d tokens that the model takes", given, longest, m.model.MaxTokens()-2)
	}
	return runs, nil
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
