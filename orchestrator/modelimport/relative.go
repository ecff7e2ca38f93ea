package modelimport

import "math/bits"

// MPNet adds a number to each attention score that depends on the head and on the bucket of the distance between the
// two tokens (transformers, MPNetEncoder.compute_position_bias).
const (
	relativeBuckets = 32 // one half for keys before the query or at it, one half for keys after it
	exactDistances  = 8  // distances with a bucket of their own; the buckets after them widen by √2 up to 128 tokens
)

// relativeBias returns the numbers for all pairs of tokens, [heads, tokens, tokens].
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
	byDistance := n.widen(n.weight("relative_bias", []int64{int64(2*last + 1), int64(heads)}, values))
	keys := n.reshape(n.cells.positions, 1, -1)
	queries := n.reshape(n.cells.positions, -1, 1)
	distances := n.op("Add", n.op("Sub", keys, queries), n.int64Scalar(int64(last)))
	return n.transpose(n.gather(byDistance, distances, 0), 2, 0, 1)
}

// relativeBucket returns the bucket for a key that many tokens after the query.
func relativeBucket(distance int) int {
	first := 0
	if distance > 0 {
		first = relativeBuckets / 2
	}
	distance = max(distance, -distance)
	if distance < exactDistances {
		return first + distance
	}
	// The published code takes logarithms in floating point: 8 + ⌊8·ln(d/8)/ln(128/8)⌋ = 8 + ⌊log₂(d²/64)⌋.
	wide := bits.Len(uint(distance*distance/(exactDistances*exactDistances))) - 1
	return first + min(exactDistances+wide, relativeBuckets/2-1)
}
