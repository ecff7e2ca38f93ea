package latent

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// The best molecules of a search breed: the code or the text of one of them is
// changed, or mixed with another's, and what the decoder makes of that is a
// neighbour, chosen as the training molecules would have it. A window of the
// code has its place in the text, so changes there are changes to some atoms.
// Which change pays differs between molecules and goals, so the search learns it.

// source is what a way begins with.
type source int

const (
	code    source = iota // of a parent
	mated                 // likewise, with another parent's in the window
	edited                // its text with a token put in, replaced or left out, encoded anew
	twice                 // likewise, with two
	spliced               // the beginning of its text and the end of another's, encoded anew
)

// way is a way to make a point of parents.
type way struct {
	source
	part        float64 // window: part of the coordinates, neighbours of each other
	sd          float64 // standard deviation of the noise in the window, in units of the space's radius
	temperature float32 // of the decoder
}

var ways = [...]way{
	{code, 1, 0.9, 0}, {code, 1, 1.2, 0}, {code, 1, 0.5, 1}, {code, 1. / 2, 1.2, 0}, {code, 1. / 8, 2, 0}, {code, 1. / 32, 3.5, 0},
	{mated, 1. / 4, 0, 0}, {mated, 1. / 2, 0, 0}, {mated, 1. / 2, 0.25, 0.7},
	{spliced, 0, 0, 0}, {spliced, 1, 0.4, 0.7},
	{edited, 0, 0, 0}, {edited, 1, 0.6, 0}, {edited, 1, 0.4, 0.7}, {twice, 1, 0.6, 0},
}

const (
	// breeders is how many molecules breed at most.
	breeders = 24
	// alike is the similarity from which on the worse of two does not breed:
	// else all would soon be variants of one.
	alike = 0.8
)

// parent is a molecule that breeds.
type parent struct {
	*candidate
	merit  float64
	ids    []int32
	hidden []float32
}

// birth tells where a point came from.
type birth struct {
	way    int
	parent float64 // merit
}

// stock holds the parents, best first, and what is known of the ways: how often
// each was tried and how much it gained, of late.
type stock struct {
	random       *rand.Rand
	parents      []parent
	tries, gains [len(ways)]float64
}

// breed makes points and tells their origins.
func (s *stock) breed(ctx context.Context, model Model, count int) ([]Point, []birth, error) {
	births, from := make([]birth, count), make([]parent, count)
	var texts [][]int32
	for i := range births {
		from[i] = s.parent()
		births[i] = birth{s.choose(), from[i].merit}
		switch ways[births[i].way].source {
		case edited:
			texts = append(texts, s.edit(from[i].ids, model.Words()))
		case twice:
			texts = append(texts, s.edit(s.edit(from[i].ids, model.Words()), model.Words()))
		case spliced:
			texts = append(texts, s.splice(from[i].ids, s.parent().ids))
		}
	}
	read, err := model.Encode(ctx, texts)
	if err != nil {
		return nil, nil, err
	}
	points := make([]Point, count)
	for i, b := range births {
		by, hidden := ways[b.way], from[i].hidden
		if by.source >= edited {
			hidden, read = read[0], read[1:]
		}
		points[i].Hidden = s.change(model.Space(), hidden, by)
		if by.temperature > 0 {
			points[i].Temperature, points[i].Seed = by.temperature, s.random.Int64()
		}
	}
	return points, births, nil
}

// longest bounds the tokens of a text that edits and splices lengthen.
const longest = 64

// edit puts a token into a text, replaces one, or leaves one out. What comes of
// it need be no SMILES: the decoder, which has learnt to write molecules, often
// makes one of it.
func (s *stock) edit(ids, words []int32) []int32 {
	at, word, room := s.random.IntN(len(ids)+1), words[s.random.IntN(len(words))], len(ids) < longest
	draw, out := s.random.IntN(5), slices.Clone(ids)
	if room && (draw < 2 || at == len(ids)) {
		return slices.Insert(out, at, word)
	}
	at = min(at, len(ids)-1)
	if draw == 4 && len(ids) > 1 {
		return slices.Delete(out, at, at+1)
	}
	out[at] = word
	return out
}

// splice is the beginning of a text and the end of another, of any lengths.
func (s *stock) splice(ids, other []int32) []int32 {
	out := slices.Concat(ids[:s.random.IntN(len(ids)+1)], other[s.random.IntN(len(other)+1):])
	if len(out) == 0 || len(out) > longest {
		return ids
	}
	return out
}

// parent draws one of the parents, the better the more often.
func (s *stock) parent() parent {
	u := s.random.Float64()
	return s.parents[int(u*u*float64(len(s.parents)))]
}

// choose draws a way by Thompson sampling: the one whose share of gains, as
// well as it is known, comes out highest in a draw (the normal approximation
// of its beta distribution).
func (s *stock) choose() int {
	highest, chosen := math.Inf(-1), 0
	for k := range ways {
		share := (s.gains[k] + 0.5) / (s.tries[k] + 20)
		share += s.random.NormFloat64() * math.Sqrt(share*(1-share)/(s.tries[k]+21))
		if share > highest {
			highest, chosen = share, k
		}
	}
	return chosen
}

// change puts noise, or first another parent's numbers, into a window at a
// random place, which may go on at the beginning.
func (s *stock) change(space *Space, hidden []float32, by way) []float32 {
	out := slices.Clone(hidden)
	size := len(out)
	first, count := s.random.IntN(size), int(math.Ceil(by.part*float64(size)))
	var other []float32
	if by.source == mated {
		other = s.parent().hidden
	}
	for i := range count {
		at := (first + i) % size
		if other != nil {
			out[at] = other[at]
		}
		out[at] += float32(by.sd * space.radius * s.random.NormFloat64())
	}
	return out
}

const (
	// newcomer is what a molecule counts for that joins the parents but is no
	// better than its own, where a better one counts 1.
	newcomer = 0.05
	// stale is what a text costs that is not new: it is decoded but not evaluated.
	stale = 0.3
	// memory is what is kept, a generation, of what is known of the ways.
	memory = 0.97
)

// learn notes what became of points: fresh[i] is whether no earlier point gave
// the same text.
func (s *stock) learn(births []birth, candidates []*candidate, fresh []bool, merit func(*candidate) float64) {
	for k := range ways {
		s.tries[k] *= memory
		s.gains[k] *= memory
	}
	for i, b := range births {
		if !fresh[i] {
			s.tries[b.way] += stale
			continue
		}
		s.tries[b.way]++
		if candidates[i] == nil {
			continue
		}
		switch m := merit(candidates[i]); {
		case m > b.parent:
			s.gains[b.way]++
		case s.joins(m):
			s.gains[b.way] += newcomer
		}
	}
}

// distinct is the parents without those that a better one is like.
func (s *stock) distinct() []parent {
	kept := make([]parent, 0, breeders)
	for _, p := range s.parents {
		if len(kept) < breeders && !slices.ContainsFunc(kept, func(k parent) bool { return k.print.Tanimoto(&p.print) > alike }) {
			kept = append(kept, p)
		}
	}
	return kept
}

// joins reports whether a molecule of this merit would be among the parents.
func (s *stock) joins(merit float64) bool {
	return len(s.parents) < breeders || merit > s.parents[len(s.parents)-1].merit
}

// admit encodes the candidates that are among the best and lets them breed.
func (s *stock) admit(ctx context.Context, model Model, candidates []*candidate, merit func(*candidate) float64) error {
	var chosen []parent
	var rows [][]int32
	known := map[string]bool{}
	for _, p := range s.parents {
		known[p.smiles] = true
	}
	for _, c := range candidates {
		if c == nil || known[c.smiles] {
			continue
		}
		known[c.smiles] = true
		m := merit(c)
		if !s.joins(m) {
			continue
		}
		ids, problem := model.Tokens(c.smiles)
		if problem != nil { // its canonical form has a token that the decoded text had not
			continue
		}
		chosen, rows = append(chosen, parent{candidate: c, merit: m}), append(rows, ids)
	}
	if len(rows) == 0 {
		return nil
	}
	hiddens, err := model.Encode(ctx, rows)
	if err != nil {
		return err
	}
	for i := range chosen {
		chosen[i].ids, chosen[i].hidden = rows[i], hiddens[i]
	}
	s.parents = append(s.parents, chosen...)
	slices.SortStableFunc(s.parents, func(a, b parent) int { return cmp.Compare(b.merit, a.merit) })
	s.parents = s.distinct()
	return nil
}
