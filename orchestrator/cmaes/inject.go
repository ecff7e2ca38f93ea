package cmaes

import (
	"fmt"
	"math"
	"slices"
)

// Inject proposes points from outside, which take rows of the next Ask: N. Hansen, Injecting External Solutions Into
// CMA-ES, https://arxiv.org/abs/1110.4181. A proposal farther from the mean than a typical point of the distribution is
// pulled in along its direction to the distance of one. Proposals that find no row wait for the following Ask.
func (o *Optimizer) Inject(xs ...[]float64) error {
	for r, x := range xs {
		if len(x) != o.n {
			return fmt.Errorf("cmaes: proposal %d has %d coordinates, not %d", r, len(x), o.n)
		}
		if i := notFinite(x); i >= 0 {
			return fmt.Errorf("cmaes: coordinate %d of proposal %d is %v", i, r, x[i])
		}
	}
	for _, x := range xs {
		x = slices.Clone(x)
		o.bounds.toInner(x)
		o.proposals = append(o.proposals, x)
	}
	return nil
}

// propose fills the first rows of y and z with points that are not drawn, and says how many.
func (o *Optimizer) propose() int {
	r := 0
	if o.settings.stepSize == TwoPoint && o.iterations > 0 && norm(o.move) > 0 {
		o.mirror()
		r = 2
	}
	waiting := 0
	for _, x := range o.proposals {
		if r+waiting < o.population {
			o.pull(r+waiting, x)
			waiting++
		}
	}
	o.proposals = slices.Delete(o.proposals, 0, waiting)
	return r + waiting
}

// mirror places rows 0 and 1 before and behind the mean along its last move, as far off as a drawn point would be.
func (o *Optimizer) mirror() {
	y := row(o.y, 0)
	z := row(o.z, 0)
	copy(y, o.move)
	o.distribution.whiten(z, y)
	o.rescale(0, o.typical()/norm(z))
	for i := range y {
		row(o.y, 1)[i] = -y[i]
		row(o.z, 1)[i] = -z[i]
	}
	o.injected[0] = true
	o.injected[1] = true
}

// typical draws the length of a standard normal vector.
func (o *Optimizer) typical() float64 {
	var sum float64
	for range o.n {
		v := o.random.NormFloat64()
		sum += v * v
	}
	return math.Sqrt(sum)
}

func (o *Optimizer) pull(r int, x []float64) {
	o.place(r, x)
	if length := norm(row(o.z, r)); length > math.Sqrt(float64(o.n)) {
		o.rescale(r, o.typical()/length)
	}
}

// adopt takes a point told that was not asked. Its distance is clipped, as the paper has it.
func (o *Optimizer) adopt(r int, x []float64) {
	inner := row(o.sent, r)
	copy(inner, x)
	o.bounds.toInner(inner)
	o.place(r, inner)
	n := float64(o.n)
	if length, limit := norm(row(o.z, r)), math.Sqrt(n)+2*n/(n+2); length > limit {
		o.rescale(r, limit/length)
	}
}

// place puts a point, in inner coordinates, into row r.
func (o *Optimizer) place(r int, x []float64) {
	y := row(o.y, r)
	for i, m := range o.mean {
		y[i] = (x[i] - m) / o.unit[i]
	}
	o.distribution.whiten(row(o.z, r), y)
	o.injected[r] = true
}

func (o *Optimizer) rescale(r int, factor float64) {
	y := row(o.y, r)
	z := row(o.z, r)
	for i := range y {
		y[i] *= factor
		z[i] *= factor
	}
}
