package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// maxTokens bounds the texts that edits and crossover lengthen, in tokens.
const maxTokens = 64

// offspring is a point that is going to be made.
type offspring struct {
	operator int // index in operators
	parent   *parent
	text     []int32 // to start with, in tokens; nil where the operator starts with the parent's hidden state
	smiles   string  // to evaluate as it is; "" for a point to decode
}

// plan decides on as many points as count says: their parents, their operators, and the texts they start with, but for
// those that an editor makes: see chooseEdits.
func (p *population) plan(count int, alphabet []int32) []offspring {
	children := make([]offspring, count)
	for i := range children {
		by := p.draw()
		children[i] = offspring{parent: by, operator: p.selection.choose()}
		if start := operators[children[i].operator].start; start.isText() && !start.editsGraph() {
			children[i].text = p.text(start, by.tokens, alphabet)
		}
	}
	return children
}

// text is the text that an operator starts with.
func (p *population) text(start start, tokens, alphabet []int32) []int32 {
	switch start {
	case tokenEdit:
		return editTokens(tokens, alphabet, p.random)
	case twoTokenEdits:
		return editTokens(editTokens(tokens, alphabet, p.random), alphabet, p.random)
	}
	return splice(tokens, p.draw().tokens, p.random)
}

// points makes offspring.
func (p *population) points(ctx context.Context, model Model, children []offspring) ([]Point, error) {
	var texts [][]int32
	for _, child := range children {
		if child.text != nil {
			texts = append(texts, child.text)
		}
	}
	encoded, err := model.Encode(ctx, texts)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(children))
	for i, child := range children {
		hidden := child.parent.hidden
		if child.text != nil {
			hidden = encoded[0]
			encoded = encoded[1:]
		}
		points[i] = p.point(model.Space(), hidden, operators[child.operator])
	}
	return points, nil
}

// editTokens inserts a token into a text, replaces one, or deletes one. The result need not be a SMILES: the decoder, which
// has learnt to write molecules, often makes one of it.
func editTokens(tokens, alphabet []int32, random *rand.Rand) []int32 {
	at := random.IntN(len(tokens) + 1)
	token := alphabet[random.IntN(len(alphabet))]
	kind := random.IntN(5) // 0 and 1 insert, 2 and 3 replace, 4 deletes
	out := slices.Clone(tokens)
	if len(tokens) < maxTokens && (kind < 2 || at == len(tokens)) {
		return slices.Insert(out, at, token)
	}
	at = min(at, len(tokens)-1)
	if kind == 4 && len(tokens) > 1 {
		return slices.Delete(out, at, at+1)
	}
	out[at] = token
	return out
}

// splice is text crossover: the beginning of a text and the end of another, each of a random length.
func splice(tokens, other []int32, random *rand.Rand) []int32 {
	out := slices.Concat(tokens[:random.IntN(len(tokens)+1)], other[random.IntN(len(other)+1):])
	if len(out) == 0 || len(out) > maxTokens {
		return tokens
	}
	return out
}

// point is a hidden state after an operator's window crossover and noise. The window may run over the last coordinate
// and goes on at the first.
func (p *population) point(space *Space, hidden []float32, by operator) Point {
	out := slices.Clone(hidden)
	first := p.random.IntN(len(out))
	count := int(math.Ceil(by.window * float64(len(out))))
	var other []float32
	if by.start == windowCrossover {
		other = p.draw().hidden
	}
	for i := range count {
		at := (first + i) % len(out)
		if other != nil {
			out[at] = other[at]
		}
		out[at] += float32(by.noise * space.radius * p.random.NormFloat64())
	}
	if by.temperature > 0 {
		return Point{Hidden: out, Temperature: by.temperature, Seed: p.random.Int64()}
	}
	return Point{Hidden: out}
}
