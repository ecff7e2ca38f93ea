package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// maxTokens is the largest number of tokens that edits and crossover lengthen a text to.
const maxTokens = 64

// offspring is a child before it is decoded.
type offspring struct {
	operator int // index in operators
	parent   *parent
	tokens   []int32 // text to encode; nil if the source is the parent's hidden state
	smiles   string  // molecule that is scored without decoding; "" for a point to decode
}

// plan draws the parents and operators of count children, and the texts of their sources. chooseEdits adds the
// molecules of operators that edit graphs.
func (p *population) plan(count int, alphabet []int32) []offspring {
	children := make([]offspring, count)
	for i := range children {
		drawn := p.draw()
		children[i] = offspring{parent: drawn, operator: p.selection.choose()}
		if source := operators[children[i].operator].source; source.editsTokens() {
			children[i].tokens = p.editText(source, drawn.tokens, alphabet)
		}
	}
	return children
}

// editText returns the text of a parent after the edits or the crossover of a source.
func (p *population) editText(source source, tokens, alphabet []int32) []int32 {
	switch source {
	case tokenEdit:
		return editTokens(tokens, alphabet, p.random)
	case twoTokenEdits:
		return editTokens(editTokens(tokens, alphabet, p.random), alphabet, p.random)
	}
	return splice(tokens, p.draw().tokens, p.random)
}

// points returns the points of offspring to decode.
func (p *population) points(ctx context.Context, children []offspring) ([]Point, error) {
	var texts [][]int32
	for _, child := range children {
		if child.tokens != nil {
			texts = append(texts, child.tokens)
		}
	}
	encoded, err := p.model.Encode(ctx, texts)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(children))
	for i, child := range children {
		hidden := child.parent.hidden
		if child.tokens != nil {
			hidden = encoded[0]
			encoded = encoded[1:]
		}
		points[i] = p.point(p.model.Space(), hidden, operators[child.operator])
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
func (p *population) point(space *Space, hidden []float32, operator operator) Point {
	out := slices.Clone(hidden)
	first := p.random.IntN(len(out))
	count := int(math.Ceil(operator.window * float64(len(out))))
	var other []float32
	if operator.source == windowCrossover {
		other = p.draw().hidden
	}
	for i := range count {
		at := (first + i) % len(out)
		if other != nil {
			out[at] = other[at]
		}
		out[at] += float32(operator.noise * space.radius * p.random.NormFloat64())
	}
	if operator.temperature > 0 {
		return Point{Hidden: out, Temperature: operator.temperature, Seed: p.random.Int64()}
	}
	return Point{Hidden: out}
}
