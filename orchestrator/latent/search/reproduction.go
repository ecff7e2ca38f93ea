package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// maxTokens is the largest number of tokens that edits and crossover lengthen a text to.
const maxTokens = 64

// offspring is the plan of a new point.
type offspring struct {
	operator int // index in operators
	parent   *parent
	text     []int32 // tokens to encode as the start; nil if the operator starts with the parent's hidden state
	smiles   string  // of a molecule that is scored without decoding; "" for a point to decode
}

// plan draws the parents and operators of count points, and the texts that they start with. Molecules of an editor
// follow in chooseEdits.
func (p *population) plan(count int, alphabet []int32) []offspring {
	children := make([]offspring, count)
	for i := range children {
		drawn := p.draw()
		children[i] = offspring{parent: drawn, operator: p.selection.choose()}
		if start := operators[children[i].operator].start; start.isText() && !start.editsGraph() {
			children[i].text = p.text(start, drawn.tokens, alphabet)
		}
	}
	return children
}

// text returns the tokens that an operator starts with.
func (p *population) text(start start, tokens, alphabet []int32) []int32 {
	switch start {
	case tokenEdit:
		return editTokens(tokens, alphabet, p.random)
	case twoTokenEdits:
		return editTokens(editTokens(tokens, alphabet, p.random), alphabet, p.random)
	}
	return splice(tokens, p.draw().tokens, p.random)
}

// points returns the points of offspring to decode.
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

// editTokens returns a text with one token inserted, replaced or deleted. The result need not be a SMILES: the decoder
// often writes a molecule from it.
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

// splice returns the crossover of two texts: a prefix of one and a suffix of the other, each of a random length.
func splice(tokens, other []int32, random *rand.Rand) []int32 {
	out := slices.Concat(tokens[:random.IntN(len(tokens)+1)], other[random.IntN(len(other)+1):])
	if len(out) == 0 || len(out) > maxTokens {
		return tokens
	}
	return out
}

// point applies an operator's window crossover and noise to a hidden state. A window past the last coordinate continues
// at the first.
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
