package latent

import (
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
)

// goalOf is what a request asks for. Its property names are looked up among those that the process computes and the
// oracles that Triton serves now. The error is Invalid.
func goalOf(r Generate, oracles []*Oracle) (search.Goal, error) {
	known := search.Properties
	for _, o := range oracles {
		known = append(known[:len(known):len(known)], o.property())
	}
	goal := search.Goal{Minimize: r.Minimize}
	if r.Algorithm == guided {
		goal.MinSimilarity = r.MinSimilarity
	}
	var sum search.Sum
	for _, t := range r.PropertyName.Terms {
		property, f := lookUp(t.Name, known)
		if f != nil {
			return goal, f
		}
		sum = append(sum, search.Term{Property: property, Weight: t.Weight, Min: t.Min, Max: t.Max})
	}
	goal.Objective = sum
	return goal, nil
}

func lookUp(name string, known []search.Property) (search.Property, *fault.Error) {
	names := make([]string, len(known))
	for i, p := range known {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return search.Property{}, fault.OneOf(name, names, "property_name")
}
