package modelimport

// The oldest opsets to which pooling can be appended: its operators are the same in all opsets from there on.
const (
	minPoolingOpset = 8
	minCumSumOpset  = 11
)

// poolingOpset returns the oldest opset that has the operators of pool.
func (r *recipe) poolingOpset() int64 {
	if r.pooling == "weightedmean" || r.pooling == "lasttoken" {
		return minCumSumOpset
	}
	return minPoolingOpset
}

// pool returns one vector per row of states, by pooling, dense layers and normalization.
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

// poolTokens returns the mean, first, last or largest states, [batch, 1, hidden]. Tokens are on the left of padding.
func (g *graph) poolTokens(states, mask, mode string) string {
	if mode == "cls" {
		return g.gather(states, g.int64Vector(0), 1)
	}
	row := g.cast(g.reshape(mask, 0, 1, -1), onnxFloat) // [batch, 1, tokens]
	column := g.reshape(row, 0, -1, 1)
	count := g.op("MatMul", row, column) // of tokens, the sum of 1·1
	switch mode {
	case "max":
		// 1e38 is subtracted from padding, more than the largest difference of two states.
		penalty := g.op("Mul", g.op("Sub", row, g.float32Scalar(1)), g.float32Scalar(1e38))
		largest := g.op("GlobalMaxPool", g.op("Add", g.transpose(states, 0, 2, 1), penalty))
		return g.reshape(largest, 0, 1, -1)
	case "weightedmean": // the weight of a token is its number, from 1
		weights := g.op("Mul", g.op("CumSum", row, g.int64Scalar(2)), row)
		return g.op("Div", g.op("MatMul", weights, states), g.op("MatMul", weights, column))
	case "lasttoken":
		isLast := g.cast(g.op("Equal", g.op("CumSum", row, g.int64Scalar(2)), count), onnxFloat)
		return g.op("MatMul", g.op("Mul", isLast, row), states)
	}
	return g.op("Div", g.op("MatMul", row, states), count)
}

// dense is activation(x·W + b).
func (g *graph) dense(x string, d *dense) string {
	w := g.widen(g.weight(d.name+".weight", []int64{int64(d.in), int64(d.out)}, d.weight))
	x = g.op("MatMul", x, w)
	if d.bias != nil {
		x = g.op("Add", x, g.widen(g.weight(d.name+".bias", []int64{int64(d.out)}, d.bias)))
	}
	if d.activation == "Tanh" {
		x = g.op("Tanh", x)
	}
	return x
}
