package modelimport

import (
	"cmp"
	"fmt"
	"slices"
)

// rope has the settings of rotary position embeddings in rope_parameters.
type rope struct {
	Type  string  `json:"rope_type"`
	Theta float64 `json:"rope_theta"` // base of the frequencies

	// Scaling of the frequencies of decoders, see frequencies.
	OldType    string  `json:"type"`
	Factor     float64 `json:"factor"`
	LowFactor  float64 `json:"low_freq_factor"`
	HighFactor float64 `json:"high_freq_factor"`
	Original   int     `json:"original_max_position_embeddings"` // longest text of pretraining, in tokens
}

// ropeParameters has the settings of all layers, or those of the two kinds of layers of ModernBERT.
type ropeParameters struct {
	rope
	Full    rope `json:"full_attention"`
	Sliding rope `json:"sliding_attention"`
}

func (r rope) check() error {
	if r.Type != "" && r.Type != "default" {
		return fmt.Errorf("config.json: rope_parameters: rope_type %q is not supported, only default", r.Type)
	}
	return nil
}

// checkRope refuses settings of rotary embeddings that rotation does not support.
func (f *folder) checkRope() error {
	return cmp.Or(checkBases("config.json", f.config),
		f.Rope.check(), f.Rope.Full.check(), f.Rope.Sliding.check())
}

// baseKeys are the keys of bases of rotary embeddings.
var baseKeys = []string{
	"rope_theta", "rotary_emb_base", "global_rope_theta", "local_rope_theta", "rope_local_base_freq",
}

// checkBases refuses bases that are given but not positive. where says what has the settings.
func checkBases(where string, settings map[string]any) error {
	for _, key := range baseKeys {
		if base, ok := settings[key].(float64); ok && base <= 0 {
			return fmt.Errorf("%s: %s %g must be positive", where, key, base)
		}
	}
	for _, key := range []string{"rope_parameters", fullAttention, slidingAttention} {
		if inner, ok := settings[key].(map[string]any); ok {
			if err := checkBases("config.json: rope_parameters", inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// rotation has the cosines and sines of the angles by which positions rotate queries and keys (RoPE, arXiv:2104.09864):
// [tokens, 1, size of a head]. The sines of the first half of a head are negated, as rotate needs them.
type rotation struct{ cos, sin string }

// rotation returns the rotation with a base: position p rotates pair i of a head of size d by p·base^(-2i/d) radians.
func (n *network) rotation(base float64) rotation {
	frequencies := rope{Theta: base}.frequencies(n.folder.headSize())
	for i := range frequencies {
		frequencies[i] /= n.folder.ntkDivisor()
	}
	return n.rotationOf(frequencies)
}

// rotationOf returns the rotation of pair i of a head by frequencies[i] radians for each position.
func (n *network) rotationOf(frequencies []float32) rotation {
	key := fmt.Sprint(frequencies)
	if r, ok := n.rotations[key]; ok {
		return r
	}
	signs := make([]float32, 2*len(frequencies))
	for i := range frequencies {
		signs[i] = -1
		signs[len(frequencies)+i] = 1
	}
	positions := n.cast(n.reshape(n.cells.positions, -1, 1, 1), onnxFloat)
	angles := n.op("Mul", positions, n.float32Vector(slices.Concat(frequencies, frequencies)))
	r := rotation{n.op("Cos", angles), n.op("Mul", n.op("Sin", angles), n.float32Vector(signs))}
	if n.rotations == nil {
		n.rotations = map[string]rotation{}
	}
	n.rotations[key] = r
	return r
}

// rotate rotates queries or keys x: [batch, tokens, heads, size of a head]. Elements i and i + d/2 of a head of size d
// are a pair (a, b), which becomes (a·cos - b·sin, b·cos + a·sin) (apply_rotary_pos_emb of transformers).
func (n *network) rotate(x string, r rotation) string {
	headSize := int64(n.folder.headSize())
	slice := func(from, to int64) string {
		return n.op("Slice", x, n.int64Vector(from), n.int64Vector(to), n.int64Vector(-1))
	}
	swapped := n.node("Concat", []string{slice(headSize/2, headSize), slice(0, headSize/2)}, intAttribute("axis", -1))
	return n.op("Add", n.op("Mul", x, r.cos), n.op("Mul", swapped, r.sin))
}
