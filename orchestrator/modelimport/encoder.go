package modelimport

import (
	"fmt"
	"math"
	"strings"
)

// network builds the encoder of a folder in a graph. err is its first error; after it, the graph is invalid.
type network struct {
	*graph
	folder *folder
	family *family
	source *safetensors
	prefix string // of the encoder's tensors: "" or, beside a classification head, "bert.", "roberta." …
	err    error
	read   map[string]bool // tensors of source

	ids, mask   string // inputs
	cells       cells
	hasLongRows bool                // see attend
	paddingBias string              // see scorePairs
	wholeBiases map[int]string      // see wholeBias; by reach
	rotations   map[string]rotation // by frequencies
}

// cells are the indices that unpad and pad use. Linear maps, nearly all of the work, are computed only for cells with a
// token; attention and pooling see all cells. scripts/convert/unpadded.py does the same to existing graphs.
type cells struct {
	positions  string // int64 [tokens]: 0, 1, …
	length     string // int64 []: the number of positions
	tokens     string // int64 [number of cells with a token]: the indices of these cells
	tokenIndex string // int64 [batch, tokens]: the index of each cell in tokens; padding repeats the token before it
}

// tensor reads weights. In files converted from TensorFlow, LayerNorm's weight and bias are named gamma and beta.
func (n *network) tensor(name string, shape ...int64) []float32 {
	if n.err != nil {
		return nil
	}
	if _, ok := n.source.tensors[name]; !ok {
		names := strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta")
		if _, ok := n.source.tensors[names.Replace(name)]; ok {
			name = names.Replace(name)
		}
	}
	n.read[name] = true
	values, err := n.source.floats(name, shape...)
	n.err = err
	return values
}

// param adds weights to the graph, and returns them in 32 bits.
func (n *network) param(name string, shape ...int64) string {
	values := n.tensor(name, shape...)
	return n.wideWeight(name, shape, values)
}

// embed looks up rows of a table [rows, hidden]. Only the rows are widened to 32 bits, not the table.
func (n *network) embed(name, indices string, rows int) string {
	shape := []int64{int64(rows), int64(n.folder.HiddenSize)}
	table, half := n.weight(name, shape, n.tensor(name, shape...))
	return n.widen(n.gather(table, indices, 0), half)
}

// linear is x·Wᵀ + b. PyTorch stores W as [out, in], MatMul needs [in, out].
func (n *network) linear(x, name string, in, out int) string {
	return n.op("Add", n.product(x, name, in, out, 0, 1), n.param(name+".bias", int64(out)))
}

// layerLinear is linear, without b in families that have none in their layers.
func (n *network) layerLinear(x, name string, in, out int) string {
	if n.family.noBias {
		n.refuseBias(name)
		return n.product(x, name, in, out, 0, 1)
	}
	return n.linear(x, name, in, out)
}

// stackedLinear is layerLinear with number index of the matrices [out, in] and of the biases [out] that are stacked in
// one tensor each.
func (n *network) stackedLinear(x, name string, in, out, index, matrices int) string {
	x = n.product(x, name, in, out, index, matrices)
	if n.family.noBias {
		n.refuseBias(name)
		return x
	}
	values := n.tensor(name+".bias", int64(matrices*out))
	if n.err != nil {
		return ""
	}
	stored := fmt.Sprintf("%s.bias.%d", name, index)
	return n.op("Add", x, n.wideWeight(stored, []int64{int64(out)}, values[index*out:(index+1)*out]))
}

// product is x·Wᵀ, where W is number index of the matrices [out, in] that are stacked in one tensor.
func (n *network) product(x, name string, in, out, index, matrices int) string {
	values := n.tensor(name+".weight", int64(matrices*out), int64(in))
	if n.err != nil {
		return ""
	}
	stored := name + ".weight"
	if matrices > 1 {
		stored = fmt.Sprintf("%s.%d", stored, index)
	}
	values = transposed(values[index*out*in:(index+1)*out*in], out, in)
	return n.op("MatMul", x, n.wideWeight(stored, []int64{int64(in), int64(out)}, values))
}

// refuseBias sets err if the weights have a bias for a linear map of a family that has none.
func (n *network) refuseBias(name string) {
	if t, ok := n.source.tensors[name+".bias"]; ok && n.err == nil {
		n.err = fmt.Errorf("%s: tensor %s.bias is not supported: the linear maps of %s have no bias",
			t.name, name, n.folder.ModelType)
	}
}

func (n *network) layerNorm(x, name string) string {
	size := int64(n.folder.HiddenSize)
	parameters := []string{x, n.param(name+".weight", size)}
	if !n.family.noNormBias {
		parameters = append(parameters, n.param(name+".bias", size))
	}
	return n.node("LayerNormalization", parameters,
		intAttribute("axis", -1), floatAttribute("epsilon", n.folder.LayerNormEps))
}

// findCells sets cells and paddingBias. The first cell of a row counts as a token whatever the mask says, so no batch
// is empty.
func (n *network) findCells() {
	shape := n.op("Shape", n.mask)
	n.cells.length = n.gather(shape, n.int64Scalar(1), 0)
	n.cells.positions = n.op("Range", n.int64Scalar(0), n.cells.length, n.int64Scalar(1))
	isToken := n.op("Or", n.cast(n.mask, onnxBool), n.op("Equal", n.cells.positions, n.int64Scalar(0)))
	flat := n.reshape(isToken, -1)
	n.cells.tokens = n.reshape(n.op("NonZero", flat), -1)
	count := n.op("CumSum", n.cast(flat, onnxInt64), n.int64Scalar(0))
	n.cells.tokenIndex = n.op("Reshape", n.op("Sub", count, n.int64Scalar(1)), shape)
	mask := n.cast(n.reshape(n.mask, 0, 1, 1, -1), onnxFloat)
	n.paddingBias = n.op("Mul", n.op("Sub", mask, n.float32Scalar(1)), n.float32Scalar(-n.family.hiddenScore()))
}

// unpad selects the states of the cells with a token: [cells with a token, width].
func (n *network) unpad(x string, width int) string {
	return n.gather(n.reshape(x, -1, int64(width)), n.cells.tokens, 0)
}

// pad is the inverse of unpad: [batch, tokens, hidden].
func (n *network) pad(x string) string { return n.gather(x, n.cells.tokenIndex, 0) }

// states returns the token states of the last layer.
func (n *network) states() string {
	if n.family.decoder != nil {
		return n.decoderStates()
	}
	n.findCells()
	x := n.unpad(n.embeddings(), n.folder.HiddenSize)
	if n.err != nil { // the sizes of config.json are not those of the tensors
		return ""
	}
	for i := range n.folder.Layers {
		if x = n.layer(x, i); n.err != nil { // num_hidden_layers may be any number
			return ""
		}
	}
	if n.family.finalNorm != "" {
		x = n.layerNorm(x, n.prefix+n.family.finalNorm)
	}
	return n.pad(x)
}

// embeddings returns the sum of the embeddings of words and, in some families, token types and positions, normalized.
func (n *network) embeddings() string {
	c := n.folder
	x := n.embed(n.prefix+n.family.wordTable, n.ids, c.VocabSize)
	if n.family.tokenTypes && c.TypeVocabSize > 0 {
		types := n.int64Scalar(0)
		if n.family.typesFromInput && c.TypeVocabSize > 1 {
			types = n.input(inputTypes)
		}
		x = n.op("Add", x, n.embed(n.prefix+"embeddings.token_type_embeddings.weight", types, c.TypeVocabSize))
	}
	if !n.family.rotary && !n.family.alibi {
		table := n.prefix + "embeddings.position_embeddings.weight"
		x = n.op("Add", x, n.embed(table, n.positions(), c.MaxPositions))
	}
	return n.layerNorm(x, n.prefix+n.family.embeddingNorm)
}

// positions returns the rows of the position table: 0, 1, …, or padID + 1, padID + 2, … for tokens and padID for
// padding (create_position_ids_from_input_ids of transformers).
func (n *network) positions() string {
	if !n.family.positionsAfterPadID {
		return n.cells.positions
	}
	padID := n.int64Scalar(int64(n.folder.padID()))
	isToken := n.cast(n.op("Not", n.op("Equal", n.ids, padID)), onnxInt64)
	numbers := n.op("Mul", n.op("CumSum", isToken, n.int64Scalar(1)), isToken)
	return n.op("Add", numbers, padID)
}

// layer is layer i: attention and feed-forward network, each with a residual connection and layer normalization.
func (n *network) layer(x string, i int) string {
	c := n.folder
	names := n.family.names
	prefix := fmt.Sprintf("%s%s.%d.", n.prefix, n.family.layerPrefix, i)
	attention := func(x string) string {
		return n.layerLinear(n.attention(x, prefix, i), prefix+names.attentionOut, c.HiddenSize, c.HiddenSize)
	}
	feedForward := func(x string) string { return n.feedForward(x, prefix) }
	if n.family.finalNorm == "" {
		attended := n.layerNorm(n.op("Add", attention(x), x), prefix+names.attentionNorm)
		if names.residualNorm != "" {
			attended = n.layerNorm(n.op("Add", attended, x), prefix+names.residualNorm)
		}
		x = attended
		return n.layerNorm(n.op("Add", feedForward(x), x), prefix+names.feedForwardNorm)
	}
	input := x
	if i > 0 { // the embeddings are normalized already
		input = n.layerNorm(x, prefix+names.attentionNorm)
	}
	x = n.op("Add", attention(input), x)
	return n.op("Add", feedForward(n.layerNorm(x, prefix+names.feedForwardNorm)), x)
}

// feedForward is down(a(up(x))) with the activation a, or down(a(gate(x))·up(x)) in a family with gated linear units
// (GeGLU and SwiGLU, arXiv:2002.05202).
func (n *network) feedForward(x, prefix string) string {
	c := n.folder
	names := n.family.names
	activation := activations[c.HiddenAct]
	size := c.IntermediateSize
	var inner string
	switch both := prefix + names.gateUp + names.upGate; {
	case both != prefix:
		n.refuseBias(both)
		up, gate := 1, 0 // numbers of the matrices
		if names.upGate != "" {
			up, gate = gate, up
		}
		gated := activation(n.graph, n.product(x, both, c.HiddenSize, size, gate, 2))
		inner = n.op("Mul", gated, n.product(x, both, c.HiddenSize, size, up, 2))
	case names.gate != "":
		gate := n.layerLinear(x, prefix+names.gate, c.HiddenSize, size)
		inner = n.op("Mul", activation(n.graph, gate), n.layerLinear(x, prefix+names.up, c.HiddenSize, size))
	default:
		inner = activation(n.graph, n.layerLinear(x, prefix+names.up, c.HiddenSize, size))
	}
	return n.layerLinear(inner, prefix+names.down, size, c.HiddenSize)
}

// attention is attend with the layer's projections to queries, keys and values, before the output projection.
func (n *network) attention(x, prefix string, layer int) string {
	names := n.family.names
	heads := int64(n.folder.Heads)
	size := n.folder.HiddenSize
	headSize := int64(size) / heads
	projections := []string{names.query, names.key, names.value}
	project := func(i int) string { // [batch, tokens, heads, size of a head]
		var projected string
		if names.qkv == "" {
			projected = n.layerLinear(x, prefix+projections[i], size, size)
		} else {
			projected = n.stackedLinear(x, prefix+names.qkv, size, size, i, len(projections))
		}
		if norm := []string{names.queryNorm, names.keyNorm, ""}[i]; norm != "" {
			projected = n.layerNorm(projected, prefix+norm)
		}
		return n.reshape(n.pad(projected), 0, 0, heads, headSize)
	}
	query, key, value := project(0), project(1), project(2)
	if n.family.rotary {
		r := n.rotation(n.family.ropeBase(&n.folder.modelConfig, layer))
		query, key = n.rotate(query, r), n.rotate(key, r)
	}
	return n.attend(query, key, value, 1/math.Sqrt(float64(headSize)), layer)
}

// activations are the supported values of hidden_act.
var activations = map[string]func(*graph, string) string{
	"gelu":              gelu,
	"gelu_new":          tanhGelu,
	"gelu_pytorch_tanh": tanhGelu,
	"relu":              func(g *graph, x string) string { return g.op("Relu", x) },
	"silu":              func(g *graph, x string) string { return g.op("Mul", x, g.op("Sigmoid", x)) },
}

// gelu is x·½(1 + erf(x/√2)) (arXiv:1606.08415).
func gelu(g *graph, x string) string {
	factor := g.op("Add", g.op("Erf", g.op("Div", x, g.float32Scalar(math.Sqrt2))), g.float32Scalar(1))
	return g.op("Mul", g.op("Mul", x, factor), g.float32Scalar(0.5))
}

// tanhGelu is the approximation ½x(1 + tanh(√(2/π)(x + 0.044715x³))) of gelu.
func tanhGelu(g *graph, x string) string {
	cube := g.op("Mul", g.op("Mul", x, x), x)
	sum := g.op("Add", x, g.op("Mul", cube, g.float32Scalar(0.044715)))
	inner := g.op("Mul", sum, g.float32Scalar(float32(math.Sqrt(2/math.Pi))))
	factor := g.op("Add", g.op("Tanh", inner), g.float32Scalar(1))
	return g.op("Mul", g.op("Mul", x, factor), g.float32Scalar(0.5))
}
