package modelimport

import (
	"math"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// Attention needs heads·tokens² scores for a row. For rows of more than longRow tokens, the graph computes them for
// blockSize queries at a time, which takes heads·blockSize·tokens numbers: 100 MB instead of 3.2 GB for 8,192 tokens
// and 12 heads. In layers with a window and in causal attention, a block skips the keys that it does not see.
const (
	longRow   = 1024
	blockSize = 256
)

// scorePairs are the queries and keys of a block of scores.
type scorePairs struct {
	queries string // int64 [queries]: positions
	keys    string // int64 [keys]: positions
	padding string // float [batch, 1, 1, keys]: hiddenScore for padding, else 0
}

// hiddenScore is added to the scores of keys that a query does not see: softmax then returns 0 exactly. It is a number
// that 16 bits can hold. The biases of keys in Qwen2 give scores of thousands, so it is the lowest one for decoders.
func (f *family) hiddenScore() float32 {
	if f.decoder != nil {
		return -maxFloat16
	}
	return -1e4
}

// attend is softmax(scale·QKᵀ + bias)V of several heads (arXiv:1706.03762): [cells with a token, heads·size], for heads
// of that size. query is [batch, tokens, heads, size], key and value are [batch, tokens, groups, size]. Heads share the
// key and value of their group.
func (n *network) attend(query, key, value string, scale float64, layer int) string {
	query = n.op("Mul", n.transpose(query, 0, 2, 1, 3), n.float32Scalar(float32(scale)))
	key = n.transpose(key, 0, 2, 3, 1)
	value = n.transpose(value, 0, 2, 1, 3)
	bias := n.wholeBias(layer)
	atOnce := func() string { return n.attendAtOnce(query, key, value, bias) }
	var mixed string
	if n.hasLongRows {
		mixed = n.branch(n.isLong(), func() string { return n.attendInBlocks(query, key, value, layer) }, atOnce)
	} else {
		mixed = atOnce()
	}
	return n.unpad(n.transpose(mixed, 0, 2, 1, 3), n.folder.Heads*n.folder.headSize())
}

// isLong reports whether the rows of a batch have more than longRow tokens: bool [].
func (n *network) isLong() string { return n.op("Less", n.int64Scalar(longRow), n.cells.length) }

// attendAtOnce returns [batch, heads, tokens, size] for query [batch, heads, tokens, size], scaled, key [batch, groups,
// size, tokens] and value [batch, groups, tokens, size].
func (n *network) attendAtOnce(query, key, value, bias string) string {
	heads := int64(n.folder.Heads)
	groups := int64(n.folder.groups())
	head := int64(n.folder.headSize())
	if groups != heads { // the queries of a group are the rows of one product
		query = n.reshape(query, 0, groups, -1, head)
	}
	scores := n.op("MatMul", query, key)
	if groups != heads {
		scores = n.reshape(scores, 0, heads, -1, 0)
	}
	weights := n.node("Softmax", []string{n.op("Add", scores, bias)}, intAttribute("axis", -1))
	if groups != heads {
		weights = n.reshape(weights, 0, groups, -1, 0)
	}
	mixed := n.op("MatMul", weights, value)
	if groups != heads {
		mixed = n.reshape(mixed, 0, heads, -1, head)
	}
	return mixed
}

// attendInBlocks is attendAtOnce for blockSize queries at a time, in a loop.
func (n *network) attendInBlocks(query, key, value string, layer int) string {
	size := n.int64Scalar(blockSize)
	before := n.op("Sub", n.op("Add", n.cells.length, size), n.int64Scalar(1))
	blocks := n.op("Div", before, size)
	missing := n.op("Sub", n.op("Mul", blocks, size), n.cells.length) // queries in the last block
	zeros := n.int64Vector(0, 0, 0, 0, 0, 0)
	pads := n.node("Concat", []string{zeros, n.reshape(missing, 1), n.int64Vector(0)}, intAttribute("axis", 0))
	padded := n.op("Pad", query, pads)

	body := n.subgraph([]*onnxpb.ValueInfoProto{scalarInfo("block", onnxInt64), scalarInfo("proceed", onnxBool)},
		func(inputs []string) []string {
			first := n.op("Mul", inputs[0], size)
			end := n.op("Add", first, size)
			from, to := n.visibleKeys(first, end, layer)
			slice := func(x, from, to string, axis int64) string {
				return n.op("Slice", x, n.reshape(from, 1), n.reshape(to, 1), n.int64Vector(axis))
			}
			bias := n.scoreBias(layer, scorePairs{
				queries: n.op("Range", first, end, n.int64Scalar(1)),
				keys:    n.op("Range", from, to, n.int64Scalar(1)),
				padding: slice(n.paddingBias, from, to, 3),
			})
			queries := slice(padded, first, end, 2)
			mixed := n.attendAtOnce(queries, slice(key, from, to, 3), slice(value, from, to, 2), bias)
			return []string{inputs[1], mixed}
		}, onnxBool, onnxFloat)
	mixed := n.node("Loop", []string{blocks, n.boolScalar(true)}, graphAttribute("body", body))
	mixed = n.transpose(mixed, 1, 2, 0, 3, 4) // [batch, heads, blocks, queries, size of a head]
	mixed = n.op("Reshape", mixed, n.op("Shape", padded))
	return n.op("Slice", mixed, n.int64Vector(0), n.reshape(n.cells.length, 1), n.int64Vector(2))
}

// visibleKeys returns the range of keys that at least one query from first to end (not included) sees: int64 [].
func (n *network) visibleKeys(first, end string, layer int) (from, to string) {
	from, to = n.int64Scalar(0), n.cells.length
	reach := n.folder.reach(layer)
	if reach < math.MaxInt32 {
		from = n.op("Max", n.op("Sub", first, n.int64Scalar(int64(reach))), from)
	}
	switch {
	case n.folder.isCausal():
		to = n.op("Min", end, to)
	case reach < math.MaxInt32:
		to = n.op("Min", n.op("Add", end, n.int64Scalar(int64(reach))), to)
	}
	return from, to
}

// wholeBias returns scoreBias of all pairs. In a graph with long rows, it is 0 for these: they do not use it.
func (n *network) wholeBias(layer int) string {
	reach := n.folder.reach(layer)
	if bias, ok := n.wholeBiases[reach]; ok {
		return bias
	}
	whole := func() string {
		return n.scoreBias(layer, scorePairs{n.cells.positions, n.cells.positions, n.paddingBias})
	}
	var bias string
	if n.hasLongRows {
		bias = n.branch(n.isLong(), func() string { return n.float32Scalar(0) }, whole)
	} else {
		bias = whole()
	}
	if n.wholeBiases == nil {
		n.wholeBiases = map[int]string{}
	}
	n.wholeBiases[reach] = bias
	return bias
}

// scoreBias returns what is added to the scores of a layer: [batch, 1 or heads, queries, keys].
func (n *network) scoreBias(layer int, s scorePairs) string {
	bias := s.padding
	if n.family.relativeBias {
		bias = n.op("Add", bias, n.relativeBias())
	}
	if n.family.alibi {
		bias = n.op("Add", bias, n.alibiBias(s))
	}
	reach := n.folder.reach(layer)
	if reach == math.MaxInt32 && !n.folder.isCausal() {
		return bias
	}
	distance := n.op("Sub", n.reshape(s.queries, -1, 1), n.reshape(s.keys, 1, -1)) // negative for later keys
	var hidden string
	if n.folder.isCausal() {
		later := n.op("Less", distance, n.int64Scalar(0))
		far := n.op("Less", n.int64Scalar(int64(reach)), distance)
		hidden = n.op("Or", later, far)
	} else {
		hidden = n.op("Less", n.int64Scalar(int64(reach)), n.op("Abs", distance))
	}
	return n.op("Add", bias, n.op("Mul", n.cast(hidden, onnxFloat), n.float32Scalar(n.family.hiddenScore())))
}

// isCausal reports whether a token attends only to itself and the tokens before it.
func (f *folder) isCausal() bool { return f.family().decoder != nil && !f.isBidirectional() }

// reach returns the largest distance of a query and a key that it sees in a layer, in tokens; without a window,
// math.MaxInt32.
func (f *folder) reach(layer int) int {
	d := f.family().decoder
	switch {
	case d == nil && f.isLocal(layer):
		return f.window()
	case d != nil && d.isLocal != nil && d.isLocal(&f.modelConfig, layer):
		return f.decoderWindow() - 1
	}
	return math.MaxInt32
}

// groups returns the number of groups of heads that share keys and values.
func (f *folder) groups() int {
	if f.family().decoder != nil {
		return f.keyValueHeads()
	}
	return f.Heads
}

// branch returns the value of one of two graphs, whose values are FLOAT.
func (g *graph) branch(condition string, yes, no func() string) string {
	build := func(value func() string) *onnxpb.GraphProto {
		return g.subgraph(nil, func([]string) []string { return []string{value()} }, onnxFloat)
	}
	return g.node("If", []string{condition},
		graphAttribute("then_branch", build(yes)), graphAttribute("else_branch", build(no)))
}

// subgraph builds a graph inside a node. It may use all values of the graphs around it. outputs are the element types
// of what build returns.
func (g *graph) subgraph(
	inputs []*onnxpb.ValueInfoProto, build func(inputs []string) []string, outputs ...int32,
) *onnxpb.GraphProto {
	outer := g.GraphProto
	g.count++
	inner := &onnxpb.GraphProto{Name: proto.String(g.nodeName("graph"))}
	var names []string
	for _, input := range inputs {
		input.Name = proto.String(inner.GetName() + "_" + input.GetName())
		names = append(names, input.GetName())
	}
	inner.Input = inputs
	g.GraphProto = inner
	values := build(names)
	for i, value := range values {
		name := g.op("Identity", value) // an output must not be a value of the graphs around it
		inner.Output = append(inner.Output, &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{
			Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: &outputs[i]}},
		}})
	}
	g.GraphProto = outer
	return inner
}

func graphAttribute(name string, value *onnxpb.GraphProto) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_GRAPH.Enum(), G: value}
}

// scalarInfo describes a tensor without dimensions.
func scalarInfo(name string, element int32) *onnxpb.ValueInfoProto { return tensorInfo(name, element) }
