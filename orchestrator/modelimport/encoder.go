package modelimport

import (
	"fmt"
	"math"
	"strings"
)

// network builds the encoder of a folder in a graph. After an error, which err keeps, the graph is meaningless.
type network struct {
	*graph
	folder *folder
	family *family
	source *safetensors
	prefix string // of the encoder's tensors: "" or, beside a classification head, "bert.", "roberta." …
	err    error

	ids, mask string // inputs
	cells     cells
}

// cells are the indices that unpad and pad use. Linear maps, nearly all of the work, are computed only for cells with a
// token; attention and pooling see all cells. scripts/convert/unpadded.py does the same to existing graphs.
type cells struct {
	positions  string // int64 [tokens]: 0, 1, …
	tokens     string // int64 [number of cells with a token]: the indices of these cells
	tokenIndex string // int64 [batch, tokens]: the index of each cell in tokens; padding repeats the token before it
}

// tensor reads weights. It also knows the names that files from the time of TensorFlow have.
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
	values, err := n.source.floats(name, shape...)
	n.err = err
	return values
}

// param returns weights in 32 bits.
func (n *network) param(name string, shape ...int64) string {
	values := n.tensor(name, shape...)
	return n.widen(n.weight(name, shape, values))
}

// embed looks up rows of a table [rows, hidden]. Only the rows are widened to 32 bits, not the table.
func (n *network) embed(name, indices string, rows int) string {
	shape := []int64{int64(rows), int64(n.folder.HiddenSize)}
	table, half := n.weight(name, shape, n.tensor(name, shape...))
	return n.widen(n.gather(table, indices, 0), half)
}

// linear is x·Wᵀ + b. PyTorch stores W as [out, in], MatMul needs [in, out].
func (n *network) linear(x, name string, in, out int) string {
	values := n.tensor(name+".weight", int64(out), int64(in))
	if n.err != nil {
		return ""
	}
	w := n.widen(n.weight(name+".weight", []int64{int64(in), int64(out)}, transposed(values, out, in)))
	return n.op("Add", n.op("MatMul", x, w), n.param(name+".bias", int64(out)))
}

func (n *network) layerNorm(x, name string) string {
	size := int64(n.folder.HiddenSize)
	return n.node("LayerNormalization", []string{x, n.param(name+".weight", size), n.param(name+".bias", size)},
		intAttribute("axis", -1), floatAttribute("epsilon", n.folder.LayerNormEps))
}

// findCells sets cells. The first cell of a row counts as a token whatever the mask says, so no batch is empty.
func (n *network) findCells() {
	shape := n.op("Shape", n.mask)
	n.cells.positions = n.op("Range", n.int64Scalar(0), n.gather(shape, n.int64Scalar(1), 0), n.int64Scalar(1))
	isToken := n.op("Or", n.cast(n.mask, onnxBool), n.op("Equal", n.cells.positions, n.int64Scalar(0)))
	flat := n.reshape(isToken, -1)
	n.cells.tokens = n.reshape(n.op("NonZero", flat), -1)
	count := n.op("CumSum", n.cast(flat, onnxInt64), n.int64Scalar(0))
	n.cells.tokenIndex = n.op("Reshape", n.op("Sub", count, n.int64Scalar(1)), shape)
}

// unpad selects the states of the cells with a token: [cells with a token, hidden].
func (n *network) unpad(x string) string {
	return n.gather(n.reshape(x, -1, int64(n.folder.HiddenSize)), n.cells.tokens, 0)
}

// pad is the inverse of unpad: [batch, tokens, hidden].
func (n *network) pad(x string) string { return n.gather(x, n.cells.tokenIndex, 0) }

// states returns the token states of the last layer.
func (n *network) states() string {
	n.findCells()
	x := n.unpad(n.embeddings())
	// -1e4 is added to the attention scores of padding: softmax then returns 0 exactly, and it fits in 16 bits.
	mask := n.cast(n.reshape(n.mask, 0, 1, 1, -1), onnxFloat)
	bias := n.op("Mul", n.op("Sub", mask, n.float32Scalar(1)), n.float32Scalar(1e4))
	if n.family.relativeBias {
		bias = n.op("Add", bias, n.relativeBias())
	}
	for i := range n.folder.Layers {
		x = n.layer(x, bias, i)
	}
	return n.pad(x)
}

// embeddings returns the sum of the embeddings of words, positions and, in some families, token types, normalized.
func (n *network) embeddings() string {
	c := n.folder
	prefix := n.prefix + "embeddings."
	x := n.embed(prefix+"word_embeddings.weight", n.ids, c.VocabSize)
	if n.family.tokenTypes {
		types := n.int64Scalar(0)
		if n.family.typesFromText && c.TypeVocabSize > 1 {
			types = n.input(inputTypes)
		}
		x = n.op("Add", x, n.embed(prefix+"token_type_embeddings.weight", types, c.TypeVocabSize))
	}
	x = n.op("Add", x, n.embed(prefix+"position_embeddings.weight", n.positions(), c.MaxPositions))
	return n.layerNorm(x, prefix+"LayerNorm")
}

// positions returns the positions of tokens: 0, 1, …, or, if they are counted from padID + 1, the numbers of the tokens
// that are not padding (transformers, create_position_ids_from_input_ids).
func (n *network) positions() string {
	if !n.family.positionsFromID {
		return n.cells.positions
	}
	padID := n.int64Scalar(int64(n.folder.padID()))
	isToken := n.cast(n.op("Not", n.op("Equal", n.ids, padID)), onnxInt64)
	numbers := n.op("Mul", n.op("CumSum", isToken, n.int64Scalar(1)), isToken)
	return n.op("Add", numbers, padID)
}

// layer is layer i: attention and feed-forward network, each with a residual connection and layer normalization.
func (n *network) layer(x, bias string, i int) string {
	c := n.folder
	names := n.family.names
	prefix := fmt.Sprintf("%s%s.%d.", n.prefix, n.family.layers, i)
	attention := n.attention(x, bias, prefix)
	attention = n.linear(attention, prefix+names.mix, c.HiddenSize, c.HiddenSize)
	x = n.layerNorm(n.op("Add", attention, x), prefix+names.mixNorm)
	inner := n.linear(x, prefix+names.inner, c.HiddenSize, c.IntermediateSize)
	inner = activations[c.HiddenAct](n.graph, inner)
	outer := n.linear(inner, prefix+names.outer, c.IntermediateSize, c.HiddenSize)
	return n.layerNorm(n.op("Add", outer, x), prefix+names.outerNorm)
}

// attention is softmax(QKᵀ/√d + bias)V of several heads.
func (n *network) attention(x, bias, prefix string) string {
	names := n.family.names
	heads := int64(n.folder.Heads)
	size := n.folder.HiddenSize
	headSize := int64(size) / heads
	project := func(name string) string {
		return n.reshape(n.pad(n.linear(x, prefix+name, size, size)), 0, 0, heads, headSize)
	}
	scale := float32(1 / math.Sqrt(float64(headSize)))
	query := n.op("Mul", n.transpose(project(names.query), 0, 2, 1, 3), n.float32Scalar(scale))
	scores := n.op("Add", n.op("MatMul", query, n.transpose(project(names.key), 0, 2, 3, 1)), bias)
	weights := n.node("Softmax", []string{scores}, intAttribute("axis", -1))
	mixed := n.op("MatMul", weights, n.transpose(project(names.value), 0, 2, 1, 3))
	return n.unpad(n.transpose(mixed, 0, 2, 1, 3))
}

// activations are the supported values of hidden_act.
var activations = map[string]func(*graph, string) string{
	"gelu":              gelu,
	"gelu_new":          tanhGelu,
	"gelu_pytorch_tanh": tanhGelu,
	"relu":              func(g *graph, x string) string { return g.op("Relu", x) },
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
