package page

import "retort/orchestrator/fault"

// Bounds of a request.
const (
	maxMolecules  = 100
	maxRecords    = 1000
	maxProperties = 32
	minSide       = 40
	maxSide       = 1200
)

// Validate checks the bounds.
func (d *Describe) Validate() error {
	var problems fault.Problems
	if d.Draw != nil {
		problems.Add(
			fault.Between(d.Draw.Width, minSide, maxSide, "draw", "width"),
			fault.Between(d.Draw.Height, minSide, maxSide, "draw", "height"),
		)
	}
	if d.Reference != "" && d.Template != "" {
		problems.Add(fault.Field("value_error", nil, []any{"template"},
			"Only one of reference and template can be given"))
	}
	return problems.Err()
}

// Validate checks the bounds.
func (r *Records) Validate() error {
	var problems fault.Problems
	problems.AddEach(len(r.Molecules), func(i int) *fault.Error {
		return fault.Items(len(r.Molecules[i].Properties), 0, maxProperties, "molecules", i, "properties")
	})
	return problems.Err()
}
