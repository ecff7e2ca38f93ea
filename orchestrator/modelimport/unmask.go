package modelimport

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// Tensors of a masked entry, see model_repository/README.md. orchestrator/masked uses the same.
const (
	inputTemperature = "temperature"
	inputNoise       = "noise"
	inputGamma       = "gamma"
	inputStepSize    = "step_size"
	inputSeed        = "seed"
	outputTokens     = "token_ids"
)

// turnsOfRow is the key of a row's number of turns among its settings.
const turnsOfRow = "turns"

// Purposes of random numbers.
const (
	drawToken    = 0
	drawOrder    = 1
	drawContext  = 2
	drawPurposes = 4 // of one step; the last is not used
)

// guidance is the weight w of molecular context guidance: logits are w·L + (1 − w)·L′, where L′ sees less of the
// context (src/genmol/sampler.py, generate).
const guidance = 2

// specialTokens are the ids of a tokenizer that the sampler treats in its own way.
type specialTokens struct{ bos, eos, pad, mask int64 }

// unmasking builds the sampler of GenMol as a graph: a loop that draws a token for every mask, and keeps the ones of
// highest confidence, step_size of them in each turn (arXiv:2501.06158, section 4; step_confidence of MDLM in
// bionemo-moco). Each turn computes only rows that still have masks. Random numbers are those of
// scripts/train/graph.py, a hash of the seed, the turn and the position, so a row does not depend on the batch.
type unmasking struct {
	*graph
	special    specialTokens
	vocabulary int // number of tokens
	network    *network
	rows       string            // int64 [rows, tokens]: those that still have masks
	settings   map[string]string // [rows, 1], by input or turnsOfRow
	turn       string            // int64 []: 0, 1, …
	positions  string            // int64 [1, tokens]: 0, 1, …
}

// buildUnmasking builds the graph of a masked entry from a BertForMaskedLM.
func buildUnmasking(f *folder, tensors *safetensors, special specialTokens, o Options) (*onnxpb.ModelProto, error) {
	prefix, err := encoderPrefix(tensors, bertWords)
	if err != nil {
		return nil, err
	}
	root := newGraph(&onnxpb.GraphProto{Name: proto.String("unmasking")}, o.Precision == precisionFP32)
	ids := root.input(inputIDs)
	inputs := map[string]string{}
	for _, name := range []string{inputTemperature, inputNoise, inputGamma} {
		root.Input = append(root.Input, tensorInfo(name, onnxFloat, "batch", int64(1)))
		inputs[name] = name
	}
	for _, name := range []string{inputStepSize, inputSeed} {
		root.Input = append(root.Input, tensorInfo(name, onnxInt64, "batch", int64(1)))
		inputs[name] = name
	}
	inputs[inputStepSize] = root.op("Max", inputStepSize, root.int64Scalar(1))
	masks := root.sum(root.cast(root.op("Equal", ids, root.int64Scalar(special.mask)), onnxInt64))
	dividend := root.op("Sub", root.op("Add", masks, inputs[inputStepSize]), root.int64Scalar(1)) // to round up
	inputs[turnsOfRow] = root.op("Div", dividend, inputs[inputStepSize])
	length := root.gather(root.op("Shape", ids), root.int64Scalar(1), 0)
	positions := root.reshape(root.op("Range", root.int64Scalar(0), length, root.int64Scalar(1)), 1, -1)

	family := *f.family()
	family.typesFromInput = false
	u := &unmasking{
		graph: root, special: special, vocabulary: f.VocabSize, positions: positions,
		network: &network{
			graph: root, folder: f, family: &family, source: tensors, prefix: prefix, read: map[string]bool{},
		},
	}
	body := u.body(inputs)
	if err := cmp.Or(u.network.err, u.network.checkUnread()); err != nil {
		return nil, err
	}
	turns := root.node("ReduceMax", []string{inputs[turnsOfRow]}, intAttribute("keepdims", 0))
	loop := &onnxpb.NodeProto{
		Name: proto.String("loop"), OpType: proto.String("Loop"), Output: []string{outputTokens},
		Input: []string{turns, "", ids}, Attribute: []*onnxpb.AttributeProto{graphAttribute("body", body)},
	}
	root.Node = append(root.Node, loop)
	root.Output = append(root.Output, tensorInfo(outputTokens, onnxInt64, "batch", "tokens"))
	return newModelProto(root.GraphProto), nil
}

// body returns the body of the loop: one turn.
func (u *unmasking) body(inputs map[string]string) *onnxpb.GraphProto {
	return u.subgraph([]*onnxpb.ValueInfoProto{
		scalarInfo("turn", onnxInt64), scalarInfo("proceed", onnxBool), tensorInfo("rows", onnxInt64, "batch", "tokens"),
	}, func(names []string) []string {
		u.turn = names[0]
		all := names[2]
		active := u.indices(u.op("Greater", inputs[turnsOfRow], u.turn))
		u.settings = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			u.settings[name] = u.gather(inputs[name], active, 0)
		}
		u.rows = u.gather(all, active, 0)
		return []string{names[1], u.op("ScatterND", all, u.unsqueeze(active, 1), u.step())}
	}, onnxBool, onnxInt64)
}

// step returns the rows after a turn.
func (u *unmasking) step() string {
	// The sampler draws no masks. It may draw other special tokens, which the text does not show.
	maskBias := make([]float32, u.vocabulary)
	maskBias[u.special.mask] = -1e6
	logits := u.op("Add", u.guidedLogits(), u.float32Vector(maskBias))
	scaled := u.op("Div", logits, u.unsqueeze(u.settings[inputTemperature], 2))
	logP := u.node("LogSoftmax", []string{scaled}, intAttribute("axis", -1))

	// A token is the first whose cumulative probability reaches a uniform random number.
	cumulative := u.op("CumSum", u.op("Exp", logP), u.int64Scalar(2))
	below := u.op("Less", cumulative, u.unsqueeze(u.uniform(drawToken), 2))
	count := u.node("ReduceSum", []string{u.cast(below, onnxInt64), u.int64Vector(2)}, intAttribute("keepdims", 0))
	drawn := u.op("Min", count, u.int64Scalar(int64(u.vocabulary-1)))

	chosen := u.node("GatherElements", []string{logP, u.unsqueeze(drawn, 2)}, intAttribute("axis", 2))
	gumbel := u.op("Neg", u.logarithm(u.op("Neg", u.logarithm(u.uniform(drawOrder)))))
	confidence := u.op("Add", u.op("Squeeze", chosen, u.int64Vector(2)), u.op("Mul", u.noise(), gumbel))
	masked := u.op("Equal", u.rows, u.int64Scalar(u.special.mask))
	confidence = u.op("Where", masked, confidence, u.float32Scalar(float32(math.Inf(-1))))
	kept := u.op("And", masked, u.markTop(confidence, u.settings[inputStepSize], true))
	return u.op("Where", kept, drawn, u.rows)
}

// noise returns the scale of the Gumbel noise [rows, 1], which falls to 0 in the last turn of a row.
func (u *unmasking) noise() string {
	last := u.op("Max", u.op("Sub", u.settings[turnsOfRow], u.int64Scalar(1)), u.int64Scalar(1))
	done := u.op("Div", u.cast(u.turn, onnxFloat), u.cast(last, onnxFloat))
	return u.op("Mul", u.settings[inputNoise], u.op("Sub", u.float32Scalar(1), done))
}

// markTop marks the count [rows, 1] positions of each row that have the largest or smallest values [rows, tokens].
func (u *unmasking) markTop(values, count string, largest bool) string {
	order := int64(0)
	if largest {
		order = 1
	}
	length := u.reshape(u.gather(u.op("Shape", u.rows), u.int64Scalar(1), 0), 1)
	sorted := u.node("TopK", []string{values, length}, intAttribute("axis", 1), intAttribute("largest", order))
	indices := sorted + "_indices"
	topK := u.Node[len(u.Node)-1]
	topK.Output = append(topK.Output, indices)
	isTop := u.cast(u.op("Less", u.positions, count), onnxInt64)
	none := u.op("Sub", u.rows, u.rows)
	marked := u.node("ScatterElements", []string{none, indices, isTop}, intAttribute("axis", 1))
	return u.cast(marked, onnxBool)
}

// guidedLogits returns the logits of the rows [rows, tokens, vocabulary]. Rows with gamma above 0 pass through the
// network a second time, with that share of their context masked. The context is every token that is neither a mask nor
// special, those of earlier turns included.
func (u *unmasking) guidedLogits() string {
	guided := u.indices(u.op("Greater", u.settings[inputGamma], u.float32Scalar(0)))
	partial := u.gather(u.op("Where", u.droppedContext(), u.int64Scalar(u.special.mask), u.rows), guided, 0)
	both := u.logits(u.node("Concat", []string{u.rows, partial}, intAttribute("axis", 0)))
	count := u.gather(u.op("Shape", u.rows), u.int64Vector(0), 0)
	full := u.op("Slice", both, u.int64Vector(0), count)
	weak := u.op("Slice", both, count, u.int64Vector(math.MaxInt64))
	strong := u.op("Mul", u.gather(full, guided, 0), u.float32Scalar(guidance))
	mixed := u.op("Add", strong, u.op("Mul", weak, u.float32Scalar(1-guidance)))
	return u.op("ScatterND", full, u.unsqueeze(guided, 1), mixed)
}

// droppedContext marks the context that the second pass does not see: of n tokens, the integer part of gamma·n, at
// random.
func (u *unmasking) droppedContext() string {
	isContext := u.op("GreaterOrEqual", u.rows, u.int64Scalar(0))
	for _, id := range []int64{u.special.bos, u.special.eos, u.special.pad, u.special.mask} {
		isContext = u.op("And", isContext, u.op("Not", u.op("Equal", u.rows, u.int64Scalar(id))))
	}
	size := u.cast(u.sum(u.cast(isContext, onnxInt64)), onnxFloat)
	count := u.cast(u.op("Floor", u.op("Mul", size, u.settings[inputGamma])), onnxInt64)
	order := u.op("Where", isContext, u.uniform(drawContext), u.float32Scalar(2))
	return u.op("And", isContext, u.markTop(order, count, false))
}

// logits returns the output of the network for rows: the masked-LM head of BERT (BertLMPredictionHead of transformers)
// over its token states.
func (u *unmasking) logits(rows string) string {
	n := u.network
	size := n.folder.HiddenSize
	n.ids = rows
	n.mask = u.cast(u.op("Not", u.op("Equal", rows, u.int64Scalar(u.special.pad))), onnxInt64)
	x := n.states()
	if n.err != nil {
		return ""
	}
	x = activations[n.folder.HiddenAct](u.graph, n.linear(x, "cls.predictions.transform.dense", size, size))
	x = n.layerNorm(x, "cls.predictions.transform.LayerNorm")
	const decoder = "cls.predictions.decoder.weight"
	table := decoder
	if _, ok := n.source.tensors[decoder]; !ok {
		table = n.prefix + bertWords // tied
	}
	weights := transposed(n.tensor(table, int64(u.vocabulary), int64(size)), u.vocabulary, size)
	if n.err != nil {
		return ""
	}
	x = u.op("MatMul", x, n.wideWeight(decoder, []int64{int64(size), int64(u.vocabulary)}, weights))
	return u.op("Add", x, n.param("cls.predictions.bias", int64(u.vocabulary)))
}

// sum returns the sums of rows, [rows, 1].
func (g *graph) sum(values string) string {
	return g.node("ReduceSum", []string{values, g.int64Vector(1)}, intAttribute("keepdims", 1))
}

// logarithm returns natural logarithms. Log computes those at the end of a tensor in another way, so that a row would
// depend on the batch: scripts/convert/batch_invariant.py.
func (g *graph) logarithm(values string) string {
	return g.node("ReduceLogSum", []string{g.unsqueeze(values, -1)},
		intsAttribute("axes", -1), intAttribute("keepdims", 0))
}

// indices returns the rows [n] for which a condition [rows, 1] is true.
func (g *graph) indices(condition string) string {
	return g.reshape(g.op("NonZero", g.reshape(condition, -1)), -1)
}

func (g *graph) unsqueeze(value string, axis int64) string {
	return g.op("Unsqueeze", value, g.int64Vector(axis))
}

// The hash of scripts/train/graph.py (Graph.key): MiMC (ePrint 2016/492) over the prime 2³¹ − 1 with x⁵, and the
// constants of its rounds.
const hashPrime = 1<<31 - 1

var hashConstants = []int64{1614823402, 183354143, 670183414, 298078656, 2017555507, 1614860422}

// uniform returns random numbers between 0 and 1 for every position [rows, tokens].
func (u *unmasking) uniform(purpose int64) string {
	prime := u.int64Scalar(hashPrime)
	code := u.op("Add", u.op("Mul", u.turn, u.int64Scalar(drawPurposes)), u.int64Scalar(purpose))
	state := ""
	for i, part := range []string{u.settings[inputSeed], code, u.positions} {
		low := u.op("Mod", part, prime)
		high := u.op("Mod", u.op("Div", u.op("Sub", part, low), prime), prime)
		for _, value := range []string{low, high} {
			if state != "" {
				value = u.op("Add", state, value)
			}
			state = u.hashRound(u.hashRound(value, hashConstants[2*i]), hashConstants[2*i+1])
		}
	}
	number := u.cast(u.op("Div", state, u.int64Scalar(1<<8)), onnxFloat)
	return u.op("Mul", u.op("Add", number, u.float32Scalar(0.5)), u.float32Scalar(1.0/(1<<23)))
}

func (u *unmasking) hashRound(x string, constant int64) string {
	prime := u.int64Scalar(hashPrime)
	x = u.op("Mod", u.op("Add", x, u.int64Scalar(constant)), prime)
	square := u.op("Mod", u.op("Mul", x, x), prime)
	fourth := u.op("Mod", u.op("Mul", square, square), prime)
	return u.op("Mod", u.op("Mul", fourth, x), prime)
}
