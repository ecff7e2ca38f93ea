package modelimport

import (
	"cmp"
	"fmt"
	"math"
)

// rope has the settings of rotary positions in config.json.
type rope struct {
	Type  string  `json:"rope_type"`
	Theta float64 `json:"rope_theta"` // frequency base
}

// ropes has the settings for all layers, or for the two kinds of layers of ModernBERT.
type ropes struct {
	rope
	Full    rope `json:"full_attention"`
	Sliding rope `json:"sliding_attention"`
}

func (r rope) check() error {
	switch {
	case r.Type != "" && r.Type != "default":
		return fmt.Errorf("config.json: rope_parameters: rope_type %q is not supported, only default", r.Type)
	case r.Theta < 0:
		return fmt.Errorf("config.json: rope_parameters: rope_theta %g must be positive", r.Theta)
	}
	return nil
}

// checkRope refuses settings of rotary embeddings that rotation does not support.
func (c *modelConfig) checkRope() error {
	for key, base := range map[string]float64{
		"rotary_emb_base": c.RotaryBase, "global_rope_theta": c.GlobalTheta, "local_rope_theta": c.LocalTheta,
	} {
		if base < 0 {
			return fmt.Errorf("config.json: %s %g must be positive", key, base)
		}
	}
	return cmp.Or(c.Rope.check(), c.Rope.Full.check(), c.Rope.Sliding.check())
}

// rotation has the cosines and sines of the angles by which positions rotate queries and keys (arXiv:2104.09864),
// [tokens, 1, size of a head]. The first half of the sines is negative, see rotate.
type rotation struct{ cos, sin string }

// rotation returns the rotation with a frequency base: position p rotates pair i of a head of size d by p·base^(-2i/d).
func (n *network) rotation(base float64) rotation {
	if r, ok := n.rotations[base]; ok {
		return r
	}
	size := n.folder.HiddenSize / n.folder.Heads
	half := size / 2
	frequencies, signs := make([]float32, size), make([]float32, size)
	for i := range size {
		exponent := float32(2*(i%half)) / float32(size)
		frequencies[i] = 1 / float32(math.Pow(base, float64(exponent))) // in 32 bits, as in transformers
		signs[i] = 1
		if i < half {
			signs[i] = -1
		}
	}
	positions := n.cast(n.reshape(n.cells.positions, -1, 1, 1), onnxFloat)
	angles := n.op("Mul", positions, n.float32Vector(frequencies))
	r := rotation{n.op("Cos", angles), n.op("Mul", n.op("Sin", angles), n.float32Vector(signs))}
	if n.rotations == nil {
		n.rotations = map[float64]rotation{}
	}
	n.rotations[base] = r
	return r
}

// rotate rotates the pairs of x, [batch, tokens, heads, size of a head]. A pair is a number of the first half of a head
// and the number at the same place of the second half: (a, b) becomes (a·cos - b·sin, b·cos + a·sin).
func (n *network) rotate(x string, r rotation) string {
	size := int64(n.folder.HiddenSize / n.folder.Heads)
	slice := func(from, to int64) string {
		return n.op("Slice", x, n.int64Vector(from), n.int64Vector(to), n.int64Vector(-1))
	}
	swapped := n.node("Concat", []string{slice(size/2, size), slice(0, size/2)}, intAttribute("axis", -1))
	return n.op("Add", n.op("Mul", x, r.cos), n.op("Mul", swapped, r.sin))
}
