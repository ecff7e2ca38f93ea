package modelimport

// The oldest opsets of graphs to which pooling can be appended, without and with CumSum. Later opsets have the same
// operators.
const (
	minPoolingOpset = 8
	minCumSumOpset  = 11
)

// poolingOpset returns the oldest opset with the operators that pool uses for this recipe.
func (r *recipe) poolingOpset() int64 {
	if r.pooling == "weightedmean" || r.pooling == "lasttoken" {
		return minCumSumOpset
	}
	return minPoolingOpset
}

// pool reduces states to one vector per row: pooling, dense layers, L2 normalization. [batch, width]
func (g *graph) pool(states, mask string, r *recipe) string {
	vector := g.poolTokens(states, mask, r.pooling) // [batch, 1, hidden]
	for _, d := range r.dense {
		vector = g.dense(vector, d)
	}
	if r.normalize {
		square := g.op("MatMul", vector, g.reshape(vector, 0, -1, 1))
		vector = g.op("Div", vector, g.op("Max", g.op("Sqrt", square), g.float32Scalar(1e-12)))
	}
	return g.reshape(vector, 0, -1)
}

// poolTokens reduces the states of a row to one by a mode of poolingModes: [batch, 1, hidden]. Padding must be on the
// right (Pooling of sentence_transformers).
func (g *graph) poolTokens(states, mask, mode string) string {
	if mode == "cls" {
		return g.gather(states, g.int64Vector(0), 1)
	}
	maskRow := g.cast(g.reshape(mask, 0, 1, -1), onnxFloat) // [batch, 1, tokens]
	maskColumn := g.reshape(maskRow, 0, -1, 1)
	count := g.op("MatMul", maskRow, maskColumn) // of tokens in a row: [batch, 1, 1]
	switch mode {
	case "max":
		// 1e38 is subtracted from padding, so that it is below all tokens.
		penalty := g.op("Mul", g.op("Sub", maskRow, g.float32Scalar(1)), g.float32Scalar(1e38))
		largest := g.op("GlobalMaxPool", g.op("Add", g.transpose(states, 0, 2, 1), penalty))
		return g.reshape(largest, 0, 1, -1)
	case "weightedmean": // token i, from 1, has weight i (SGPT, arXiv:2202.08904)
		weights := g.op("Mul", g.op("CumSum", maskRow, g.int64Scalar(2)), maskRow)
		return g.op("Div", g.weightedSum(weights, states), g.op("MatMul", weights, maskColumn))
	case "lasttoken":
		isLast := g.cast(g.op("Equal", g.op("CumSum", maskRow, g.int64Scalar(2)), count), onnxFloat)
		return g.op("MatMul", g.op("Mul", isLast, maskRow), states)
	}
	return g.op("Div", g.weightedSum(maskRow, states), count)
}

// weightedSum returns the sum of states with weights [batch, 1, tokens]: [batch, 1, hidden]. It does not depend on the
// padding, bit for bit: scripts/convert/batch_invariant.py.
func (g *graph) weightedSum(weights, states string) string {
	twice := g.node("Concat", []string{weights, weights}, intAttribute("axis", 1))
	return g.gather(g.op("MatMul", twice, states), g.int64Vector(0), 1)
}

// dense applies a Dense module: activation(x·W + b).
func (g *graph) dense(x string, d *dense) string {
	w := g.wideWeight(d.name+".weight", []int64{int64(d.in), int64(d.out)}, d.weight)
	x = g.op("MatMul", x, w)
	if d.bias != nil {
		x = g.op("Add", x, g.wideWeight(d.name+".bias", []int64{int64(d.out)}, d.bias))
	}
	if d.activation == "Tanh" {
		x = g.op("Tanh", x)
	}
	return x
}
