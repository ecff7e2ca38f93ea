package modelimport

import "math/bits"

// MPNet adds a learned bias to each attention score, as T5 does (arXiv:1910.10683): a number per head and bucket of
// distances. The distance is the position of the key minus the position of the query, in tokens
// (MPNetEncoder.compute_position_bias of transformers).
const (
	relativeBuckets = 32 // half for keys at or before the query, half for keys after it
	exactDistances  = 8  // 0 to 7 have one bucket each; from 8 on, buckets start at 8·√2ⁿ, the last at 91
)

// relativeBias returns the biases of all pairs of tokens: [heads, queries, keys].
func (n *network) relativeBias() string {
	heads := n.folder.Heads
	table := n.tensor(n.prefix+"encoder.relative_attention_bias.weight", relativeBuckets, int64(heads))
	if n.err != nil {
		return ""
	}
	last := n.folder.MaxPositions - 1 // the largest distance
	values := make([]float32, 0, (2*last+1)*heads)
	for distance := -last; distance <= last; distance++ {
		bucket := relativeBucket(distance)
		values = append(values, table[bucket*heads:(bucket+1)*heads]...)
	}
	byDistance := n.wideWeight("relative_bias", []int64{int64(2*last + 1), int64(heads)}, values)
	keys := n.reshape(n.cells.positions, 1, -1)
	queries := n.reshape(n.cells.positions, -1, 1)
	distances := n.op("Add", n.op("Sub", keys, queries), n.int64Scalar(int64(last)))
	return n.transpose(n.gather(byDistance, distances, 0), 2, 0, 1)
}

// relativeBucket returns the bucket of a distance (MPNetEncoder.relative_position_bucket of transformers).
func relativeBucket(distance int) int {
	offset := 0
	if distance > 0 {
		offset = relativeBuckets / 2
	}
	distance = max(distance, -distance)
	if distance < exactDistances {
		return offset + distance
	}
	// In transformers with logarithms: 8 + ⌊8·ln(d/8)/ln(128/8)⌋ = 8 + ⌊log₂(d²/64)⌋.
	log := bits.Len(uint(distance*distance/(exactDistances*exactDistances))) - 1
	return offset + min(exactDistances+log, relativeBuckets/2-1)
}
