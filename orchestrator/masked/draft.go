package masked

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"retort/chem"
	"retort/chem/cores"
	"retort/chem/safe"
	"retort/chem/smiles"
	"retort/orchestrator/fault"
	"retort/tokenizers/molecules"
)

// draft is a row with the facts for reading its molecule after unmasking.
type draft struct {
	row    Row
	parts  []part
	wanted int // length of the addition, in API tokens
	dots   int // dots between masks and given fragments in the template
	group  int // of rows drawn for one molecule: see oversample
}

// part is the tokens from..to-1 of a row.
type part struct {
	given string // given fragments in nested order, with stereo; "" for masks
	from  int
	to    int
}

// drafter draws drafts: everything random about a row, except what the model replaces its masks with.
type drafter struct {
	model     Model
	fallback  *Template // template of the request, for templates of rounds from which no row can be drawn
	settings  Settings
	minAddLen int          // in API tokens
	quality   bool         // Request.Quality
	ends      sync.Map     // []safe.End by SMILES of given fragments with open positions; at most maxCachedEnds
	cuts      atomic.Int64 // number of calls of safe.Ends
}

// maxCachedEnds bounds drafter.ends. Rows of the request's template share a few fragments; the rows of remasking, up to
// 50,000, hardly ever share one.
const maxCachedEnds = 1024

// drafts draws a row for each template. Row i depends only on the seed, the pass and i, so the result does not depend
// on how goroutines share the work.
func (d *drafter) drafts(ctx context.Context, templates []*Template, seed uint64, pass int) ([]*draft, error) {
	return cores.Map(ctx, len(templates), func(i int) (*draft, error) {
		random := rand.New(rand.NewPCG(seed, uint64(pass)<<32|uint64(i)))
		sampler := d.model.sampler()
		drawn, err := sampler.draft(d, templates[i], random)
		if err != nil && templates[i] != d.fallback {
			return sampler.draft(d, d.fallback, random)
		}
		return drawn, err
	})
}

// nestedDraft draws one row from a template, in nested order.
func (d *drafter) nestedDraft(t *Template, random *rand.Rand) (*draft, error) {
	l, err := d.layout(t, random)
	if err != nil {
		return nil, err
	}
	maskCounts, target, err := d.drawMaskCounts(t, l, random)
	if err != nil {
		return nil, err
	}
	drawn := &draft{}
	var ids []int32
	for i, s := range l.segments {
		from := 1 + len(ids) // after [BOS]
		for range maskCounts[i] {
			ids = append(ids, d.model.Mask())
		}
		ids = append(ids, l.tokens[i]...)
		drawn.parts = append(drawn.parts, part{given: s.Text, from: from, to: 1 + len(ids)})
	}
	drawn.wanted = target - l.apiTokens
	if len(t.given) > 0 {
		drawn.dots = len(t.masks)
	}
	framed := d.model.Row(ids, Target{Quality: d.quality, APITokens: target})
	drawn.row = Row{IDs: framed, Settings: d.settings, Seed: int64(random.Uint64() >> 2)}
	return drawn, nil
}

// layout has the segments of a template in the order of a row.
type layout struct {
	segments   []safe.Segment
	tokens     [][]int32 // of each segment; none for a gap
	tokenCount int       // of all segments
	apiTokens  int       // of all segments
}

// layout returns the given fragments in nested order, cut at BRICS bonds, with gaps for masks. Without given fragments
// there is one gap.
func (d *drafter) layout(t *Template, random *rand.Rand) (*layout, error) {
	if len(t.given) == 0 {
		return &layout{segments: []safe.Segment{{Positions: 1}}, tokens: make([][]int32, 1)}, nil
	}
	fragments, err := openFragments(t.given, random)
	if err != nil {
		return nil, err
	}
	ends, err := d.cutFragments(fragments)
	if err != nil {
		return nil, err
	}
	l := &layout{}
	if l.segments, err = safe.Arrange(ends, random); err != nil {
		return nil, templateFault("%v", err)
	}
	for _, s := range l.segments {
		ids, err := d.encode(s.Text)
		if unknown, ok := errors.AsType[*molecules.TokenError](err); ok {
			return nil, templateFault("the model does not know the token %q of the given fragments %s",
				unknown.Token, fragments)
		}
		if err != nil {
			return nil, err
		}
		l.tokens = append(l.tokens, ids)
		l.tokenCount += len(ids)
		l.apiTokens += d.model.APITokens(ids)
	}
	return l, nil
}

// encode returns the tokens of given fragments. If the model lacks a token, the tokens are those of the fragments
// without stereo, and with carbon in place of unknown atoms such as metals. The molecules still have the fragments
// as given.
func (d *drafter) encode(text string) ([]int32, error) {
	ids, err := d.model.Encode(text)
	if _, ok := errors.AsType[*molecules.TokenError](err); !ok {
		return ids, err
	}
	text = smiles.WithoutStereo(text)
	for {
		ids, err = d.model.Encode(text)
		unknown, ok := errors.AsType[*molecules.TokenError](err)
		if !ok {
			return ids, err
		}
		carbon := substitute(unknown.Token)
		if carbon == "" || carbon == unknown.Token {
			return nil, err
		}
		text = text[:unknown.Position] + carbon + text[unknown.Position+len(unknown.Token):]
	}
}

// substitute returns the carbon, aromatic or not, that replaces an unknown atom, or "" if the token is not an atom.
func substitute(token string) string {
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

// cutFragments cuts given fragments at BRICS bonds. It caches the first maxCachedEnds results.
func (d *drafter) cutFragments(fragments string) ([]safe.End, error) {
	if ends, ok := d.ends.Load(fragments); ok {
		return ends.([]safe.End), nil
	}
	ends, err := safe.Ends(fragments, safe.BRICS)
	if err != nil {
		return nil, templateFault("%v", err)
	}
	if d.cuts.Add(1) <= maxCachedEnds {
		d.ends.Store(fragments, ends)
	}
	return ends, nil
}

// maxExtraOpenings bounds the positions opened, beyond the first, on a single fragment that has none, as in GenMol's
// superstructure generation.
const maxExtraOpenings = 2

// openFragments joins the given fragments to one SMILES. It opens positions on fragments that have none, since the
// model could bond nothing to them.
func openFragments(given []string, random *rand.Rand) (string, error) {
	parts := make([]string, len(given))
	for i, part := range given {
		seed := random.Uint64()
		count := 1
		if len(given) == 1 {
			count += random.IntN(maxExtraOpenings + 1)
		}
		if !strings.Contains(part, "*") {
			var err error
			if part, err = chem.OpenPositions(part, count, seed); err != nil {
				return "", templateFault("%v", err)
			}
			if !strings.Contains(part, "*") {
				return "", templateFault(
					"the fragment %s has no position with a hydrogen to bond to; mark one with [*]", given[i])
			}
		}
		parts[i] = part
	}
	return strings.Join(parts, "."), nil
}

// templateFault returns the error for a problem of the member smiles.
func templateFault(format string, args ...any) error {
	return fault.Field("value_error", nil, []any{"smiles"}, format, args...)
}
