package modelimport

import (
	"math"
	"strings"
)

// network writes the encoder of a folder into a graph. The first error stays; what is written after it has no meaning.
type network struct {
	*graph
	folder *folder
	source *safetensors
	prefix string // of the encoder's tensors: "", "bert." or "roberta."
	err    error

	ids, mask string // inputs
	cells     cells
}

// cells are the places of a batch of texts, padded to the longest: [batch, tokens] of them. Linear maps, which have
// nearly all of the work, are computed for those that hold a token alone; attention and pooling see all of them.
// scripts/convert/unpadded.py does the same to graphs that are there.
type cells struct {
	places string // int64 [tokens]: 0, 1, …
	held   string // int64 [held]: the numbers of the cells that hold a token
	tokens string // int64 [batch, tokens]: which of those each cell shows; one of padding shows the token before it
}

// tensor reads weights. The names of old files, from the time of TensorFlow, are understood.
func (n *network) tensor(name string, shape ...int64) []float32 {
	if n.err != nil {
		return nil
	}
	if _, ok := n.source.tensors[name]; !ok {
		old := strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta").Replace(name)
		if _, ok := n.source.tensors[old]; ok {
			name = old
		}
	}
	values, err := n.source.floats(name, shape...)
	n.err = err
	return values
}

// param is a weight as the graph computes with it, in 32 bits.
func (n *network) param(name string, shape ...int64) string {
	values := n.tensor(name, shape...)
	if n.err != nil {
		return ""
	}
	stored, half := n.weight(name, shape, values)
	if half {
		return n.cast(stored, onnxFloat)
	}
	return stored
}

// table looks up rows of [rows, width]; only those are made 32 bits.
func (n *network) table(name, indices string, rows, width int) string {
	values := n.tensor(name, int64(rows), int64(width))
	if n.err != nil {
		return ""
	}
	stored, half := n.weight(name, []int64{int64(rows), int64(width)}, values)
	found := n.gather(stored, indices, 0)
	if half {
		return n.cast(found, onnxFloat)
	}
	return found
}

// linear is x·Wᵀ + b: PyTorch stores W as [out, in], MatMul wants [in, out].
func (n *network) linear(x, name string, in, out int) string {
	values := n.tensor(name+".weight", int64(out), int64(in))
	if n.err != nil {
		return ""
	}
	turned := make([]float32, len(values))
	for o := range out {
		for i := range in {
			turned[i*out+o] = values[o*in+i]
		}
	}
	w, half := n.weight(name+".weight", []int64{int64(in), int64(out)}, turned)
	if half {
		w = n.cast(w, onnxFloat)
	}
	return n.op("Add", n.op("MatMul", x, w), n.param(name+".bias", int64(out)))
}

func (n *network) layerNorm(x, name string) string {
	size := int64(n.folder.HiddenSize)
	return n.node("LayerNormalization", []string{x, n.param(name+".weight", size), n.param(name+".bias", size)},
		whole("axis", -1), real("epsilon", n.folder.LayerNormEps))
}

// numberCells finds the cells that hold a token. The first of a text counts as one whatever the mask says, so that every
// batch has one.
func (n *network) numberCells() {
	shape := n.op("Shape", n.mask)
	n.cells.places = n.op("Range", n.index(0), n.gather(shape, n.index(1), 0), n.index(1))
	held := n.reshape(n.op("Or", n.cast(n.mask, onnxBool), n.op("Equal", n.cells.places, n.index(0))), -1)
	n.cells.held = n.reshape(n.op("NonZero", held), -1)
	counted := n.op("CumSum", n.cast(held, onnxInt64), n.index(0))
	n.cells.tokens = n.op("Reshape", n.op("Sub", counted, n.index(1)), shape)
}

// unpadded are the states [held, hidden] of the cells that hold a token, of those of all cells.
func (n *network) unpadded(x string) string {
	return n.gather(n.reshape(x, -1, int64(n.folder.HiddenSize)), n.cells.held, 0)
}

// padded is the other way: [batch, tokens, hidden].
func (n *network) padded(x string) string { return n.gather(x, n.cells.tokens, 0) }

// states are the token states of the last layer: [batch, tokens, hidden].
func (n *network) states() string {
	n.numberCells()
	x := n.unpadded(n.embeddings())
	// What padding may add to an attention score: after softmax it is 0 exactly, and 16 bits hold it.
	real := n.cast(n.reshape(n.mask, 0, 1, 1, -1), onnxFloat)
	bias := n.op("Mul", n.op("Sub", real, n.float(1)), n.float(1e4))
	for i := range n.folder.Layers {
		x = n.layer(x, bias, i)
	}
	return n.padded(x)
}

// embeddings sums those of words, positions and segments.
func (n *network) embeddings() string {
	c, at := n.folder, n.prefix+"embeddings."
	words := n.table(at+"word_embeddings.weight", n.ids, c.VocabSize, c.HiddenSize)
	types := n.index(0)
	family, _ := c.family()
	positions := n.places(family)
	if family == "bert" && c.TypeVocabSize > 1 {
		types = n.input("token_type_ids")
	}
	x := n.op("Add", words, n.table(at+"token_type_embeddings.weight", types, c.TypeVocabSize, c.HiddenSize))
	x = n.op("Add", x, n.table(at+"position_embeddings.weight", positions, c.MaxPositions, c.HiddenSize))
	return n.layerNorm(x, at+"LayerNorm")
}

// places are the positions of tokens: 0, 1, … for BERT. RoBERTa counts the tokens that are not padding, from the place
// behind the padding's own (transformers, create_position_ids_from_input_ids).
func (n *network) places(family string) string {
	if family == "bert" {
		return n.cells.places
	}
	pad := n.index(int64(n.folder.pad()))
	is := n.cast(n.op("Not", n.op("Equal", n.ids, pad)), onnxInt64)
	counted := n.op("Mul", n.op("CumSum", is, n.index(1)), is)
	return n.op("Add", counted, pad)
}

// layer is one of the encoder's: attention, then the feed-forward part, each added to what came in and normalised.
func (n *network) layer(x, bias string, i int) string {
	c := n.folder
	at := n.prefix + "encoder.layer." + decimal(i) + "."
	attended := n.linear(n.attention(x, bias, at+"attention.self."), at+"attention.output.dense", c.HiddenSize, c.HiddenSize)
	x = n.layerNorm(n.op("Add", attended, x), at+"attention.output.LayerNorm")
	inner := n.linear(x, at+"intermediate.dense", c.HiddenSize, c.IntermediateSize)
	inner = activations[c.HiddenAct](n.graph, inner)
	outer := n.linear(inner, at+"output.dense", c.IntermediateSize, c.HiddenSize)
	return n.layerNorm(n.op("Add", outer, x), at+"output.LayerNorm")
}

// attention is softmax(QKᵀ/√d + bias)V over several heads.
func (n *network) attention(x, bias, at string) string {
	heads := int64(n.folder.Heads)
	size := n.folder.HiddenSize
	each := int64(size) / heads
	part := func(name string) string {
		return n.reshape(n.padded(n.linear(x, at+name, size, size)), 0, 0, heads, each)
	}
	query := n.op("Mul", n.transpose(part("query"), 0, 2, 1, 3), n.float(float32(1/math.Sqrt(float64(each)))))
	scores := n.op("Add", n.op("MatMul", query, n.transpose(part("key"), 0, 2, 3, 1)), bias)
	shares := n.node("Softmax", []string{scores}, whole("axis", -1))
	mixed := n.op("MatMul", shares, n.transpose(part("value"), 0, 2, 1, 3))
	return n.unpadded(n.transpose(mixed, 0, 2, 1, 3))
}

// activations are the values of hidden_act that we know.
var activations = map[string]func(*graph, string) string{
	"gelu":              gelu,
	"gelu_new":          tanhGelu,
	"gelu_pytorch_tanh": tanhGelu,
	"relu":              func(g *graph, x string) string { return g.op("Relu", x) },
}

// gelu is x·½(1 + erf(x/√2)) (arXiv:1606.08415).
func gelu(g *graph, x string) string {
	part := g.op("Add", g.op("Erf", g.op("Div", x, g.float(math.Sqrt2))), g.float(1))
	return g.op("Mul", g.op("Mul", x, part), g.float(0.5))
}

// tanhGelu is its approximation ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
func tanhGelu(g *graph, x string) string {
	cube := g.op("Mul", g.op("Mul", x, x), x)
	inner := g.op("Mul", g.op("Add", x, g.op("Mul", cube, g.float(0.044715))), g.float(float32(math.Sqrt(2/math.Pi))))
	part := g.op("Add", g.op("Tanh", inner), g.float(1))
	return g.op("Mul", g.op("Mul", x, part), g.float(0.5))
}
