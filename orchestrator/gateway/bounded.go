package gateway

import (
	"slices"

	"retort/orchestrator/fault"
)

// Bounded is a request each of whose bounds concerns one member. They are checked even where other members do not fit,
// so that an answer names every problem of a request at once.
type Bounded interface{ Bounds() []*fault.Error }

// withBounds adds the bounds that a request breaks (nil for one that it keeps) to what did not fit in its body. A
// member that did not fit is not judged again; a body that is not JSON is not judged at all.
func withBounds(unfit error, bounds []*fault.Error) error {
	f := fault.As(unfit)
	var judged []*fault.Error
	if f != nil {
		if f.Rule == "json_invalid" {
			return unfit
		}
		judged = f.All()
	}
	problems := []*fault.Error{f}
	for _, broken := range bounds {
		same := func(f *fault.Error) bool { return f.Field() == broken.Field() }
		if broken != nil && !slices.ContainsFunc(judged, same) {
			problems = append(problems, broken)
		}
	}
	return fault.Join(problems...)
}
