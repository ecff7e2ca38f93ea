package masked

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"retort/chem"
	"retort/chem/safe"
	"retort/chem/smiles"
	"retort/orchestrator/fault"
	"retort/tokenizers/molecules"
)

// draft is a row for the model, and what is needed to read the molecule that comes of it.
type draft struct {
	row   Row
	parts []part
	added int // published tokens that the template asks for in the place of its masks
	dots  int // that stand between masks and given fragments in the template
	group int // of the rows of a turn of which one is taken, see spares
}

// part is a stretch of a draft's row: the tokens from..to-1.
type part struct {
	given string // given fragments in nested order, stereo kept; "" for masks
	from  int
	to    int
}

// drafter draws drafts. All that is random about a row is drawn here, but for what the model does with its masks.
type drafter struct {
	model     Model
	own       *Template // of the request: stands in for one of a round that cannot be drawn
	settings  Settings
	minAddLen int          // in published tokens
	quality   bool         // whether molecules of quality are asked for
	ends      sync.Map     // the []safe.End of given fragments, by their SMILES with open positions; at most maxEnds
	cuts      atomic.Int64 // fragments cut so far
}

// maxEnds limits the fragments whose ends a request caches. Rows of the request's template share a few fragments; the rows
// of remasking, up to 50,000, hardly ever share one.
const maxEnds = 1024

// drafts draws a row for each template. Row i depends on the seed, the turn and i alone, so that the answer does not
// depend on how the work is shared among goroutines.
func (d *drafter) drafts(ctx context.Context, templates []*Template, seed uint64, turn int) ([]*draft, error) {
	return inParallel(ctx, len(templates), func(i int) (*draft, error) {
		random := rand.New(rand.NewPCG(seed, uint64(turn)<<32|uint64(i)))
		drawn, err := d.draft(templates[i], random)
		if err != nil && templates[i] != d.own {
			return d.draft(d.own, random)
		}
		return drawn, err
	})
}

// draft draws one row from a template.
func (d *drafter) draft(t *Template, random *rand.Rand) (*draft, error) {
	l, err := d.layout(t, random)
	if err != nil {
		return nil, err
	}
	masks, published, err := d.masks(t, l, random)
	if err != nil {
		return nil, err
	}
	drawn := &draft{}
	var ids []int32
	for i, s := range l.segments {
		from := 1 + len(ids) // after [BOS]
		for range masks[i] {
			ids = append(ids, d.model.Mask())
		}
		ids = append(ids, l.tokens[i]...)
		drawn.parts = append(drawn.parts, part{given: s.Text, from: from, to: 1 + len(ids)})
	}
	drawn.added = published - l.published
	if len(t.Given) > 0 {
		drawn.dots = len(t.Masks)
	}
	wanted := Wanted{Quality: d.quality, Published: published}
	drawn.row = Row{IDs: d.model.Row(ids, wanted), Settings: d.settings, Seed: int64(random.Uint64() >> 2)}
	return drawn, nil
}

// layout is a template in the order in which a row has it.
type layout struct {
	segments  []safe.Segment
	tokens    [][]int32 // of each segment; a gap has none
	given     int       // tokens of all segments together
	published int       // their published length
}

// layout writes the given fragments in nested order, cut at BRICS bonds, with gaps where the model adds something.
// Without given fragments there is one gap.
func (d *drafter) layout(t *Template, random *rand.Rand) (*layout, error) {
	if len(t.Given) == 0 {
		return &layout{segments: []safe.Segment{{Positions: 1}}, tokens: make([][]int32, 1)}, nil
	}
	fragments, err := opened(t.Given, random)
	if err != nil {
		return nil, err
	}
	ends, err := d.endsOf(fragments)
	if err != nil {
		return nil, err
	}
	l := &layout{}
	if l.segments, err = safe.Arrange(ends, random); err != nil {
		return nil, templateFault("%v", err)
	}
	for _, s := range l.segments {
		ids, err := d.encode(s.Text)
		if unknown, ok := unknownToken(err); ok {
			return nil, templateFault("the model does not know the token %q of the given fragments %s", unknown.Token, fragments)
		}
		if err != nil {
			return nil, err
		}
		l.tokens = append(l.tokens, ids)
		l.given += len(ids)
		l.published += d.model.Published(ids)
	}
	return l, nil
}

// encode gives the tokens of given fragments, as far as the model knows them: without their stereo where it does not
// know it, with carbon in place of an atom of which it has no token, such as a metal. They are in the answer as they
// were given.
func (d *drafter) encode(text string) ([]int32, error) {
	ids, err := d.model.Encode(text)
	if _, ok := unknownToken(err); !ok {
		return ids, err
	}
	text = smiles.WithoutStereo(text)
	for {
		ids, err = d.model.Encode(text)
		unknown, ok := unknownToken(err)
		if !ok {
			return ids, err
		}
		carbon := standIn(unknown.Token)
		if carbon == "" || carbon == unknown.Token {
			return nil, err
		}
		text = text[:unknown.Position] + carbon + text[unknown.Position+len(unknown.Token):]
	}
}

// unknownToken is what an error says of a token that the model does not know.
func unknownToken(err error) (unknown *molecules.TokenError, ok bool) {
	ok = errors.As(err, &unknown)
	return unknown, ok
}

// standIn is the carbon, aromatic or not, that a model is shown in place of an atom; "" for what is no atom.
func standIn(token string) string {
	symbol := strings.TrimLeft(token, "[0123456789")
	switch {
	case symbol == "":
		return ""
	case 'A' <= symbol[0] && symbol[0] <= 'Z':
		return "C"
	case 'a' <= symbol[0] && symbol[0] <= 'z':
		return "c"
	}
	return ""
}

// endsOf cuts given fragments. It caches the ends of the first maxEnds of a request.
func (d *drafter) endsOf(fragments string) ([]safe.End, error) {
	if known, ok := d.ends.Load(fragments); ok {
		return known.([]safe.End), nil
	}
	ends, err := safe.Ends(fragments, safe.BRICS)
	if err != nil {
		return nil, templateFault("%v", err)
	}
	if d.cuts.Add(1) <= maxEnds {
		d.ends.Store(fragments, ends)
	}
	return ends, nil
}

// maxOpened bounds how many positions are opened on a fragment that stands alone and has none, as GenMol's
// superstructure generation does.
const maxOpened = 3

// opened joins the given fragments to one SMILES, with open positions on those that have none: a fragment that nothing
// can be bonded to would not be part of the molecule. What has open positions keeps them.
func opened(given []string, random *rand.Rand) (string, error) {
	parts := make([]string, len(given))
	for i, part := range given {
		seed := random.Uint64()
		count := 1
		if len(given) == 1 {
			count += random.IntN(maxOpened)
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

// templateFault is a problem of the member smiles.
func templateFault(format string, args ...any) error {
	return fault.Field("value_error", nil, []any{"smiles"}, format, args...)
}
