package cmaes

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Inject proposes a point from outside, which takes a row of the next Ask: N. Hansen, Injecting External Solutions Into
// CMA-ES, https://arxiv.org/abs/1110.4181. A proposal farther from the mean than a typical point of the distribution is
// pulled in along its direction. A proposal for which the next Ask has no row waits for the one after it.
func (o *Optimizer) Inject(x []float64) error {
	if len(x) != o.n {
		return fmt.Errorf("cmaes: the proposal has %d coordinates, not %d", len(x), o.n)
	}
	if i := indexNotFinite(x); i >= 0 {
		return fmt.Errorf("cmaes: coordinate %d of the proposal is %v", i, x[i])
	}
	o.proposals = append(o.proposals, slices.Clone(x))
	return nil
}

// placeProposals fills the first rows with points that are not drawn: the two of the step-size rule and the pending
// proposals. It returns the number of these rows.
func (o *Optimizer) placeProposals() (rows int) {
	_, isTwoPoint := o.stepSize.(*twoPoint)
	o.mirrored = isTwoPoint && o.generations > 0 && norm(o.move) > 0
	if o.mirrored {
		o.mirror()
		rows = 2
	}
	placed := min(len(o.proposals), o.lambda-rows)
	for _, x := range o.proposals[:placed] {
		o.place(rows, x)
		rows++
	}
	o.proposals = slices.Delete(o.proposals, 0, placed)
	return rows
}

// mirror puts rows 0 and 1 on either side of the mean along its last move, as far off as a drawn point would be.
func (o *Optimizer) mirror() {
	copy(o.y[0], o.move)
	o.covariance.whiten(o.z[0], o.y[0])
	o.rescale(0, o.drawLength()/norm(o.z[0]))
	for i := range o.n {
		o.y[1][i] = -o.y[0][i]
		o.z[1][i] = -o.z[0][i]
	}
	o.injected[0] = true
	o.injected[1] = true
}

// place puts a proposal into a row.
func (o *Optimizer) place(row int, x []float64) {
	for i, m := range o.mean {
		o.y[row][i] = (x[i] - m) / o.sigma
	}
	o.covariance.whiten(o.z[row], o.y[row])
	if length := norm(o.z[row]); length > math.Sqrt(float64(o.n)) {
		o.rescale(row, o.drawLength()/length)
	}
	o.injected[row] = true
}

// drawLength draws the length of a standard normal vector.
func (o *Optimizer) drawLength() float64 {
	var square float64
	for range o.n {
		v := o.random.NormFloat64()
		square += v * v
	}
	return math.Sqrt(square)
}

func (o *Optimizer) rescale(row int, factor float64) {
	floats.Scale(factor, o.y[row])
	floats.Scale(factor, o.z[row])
}

func norm(v []float64) float64 { return floats.Norm(v, 2) }
