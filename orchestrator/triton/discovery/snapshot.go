package discovery

import (
	"maps"
	"slices"
	"strings"

	"retort/orchestrator/triton"
)

// Snapshot is the state of all replicas after one look. It is immutable.
type Snapshot struct {
	// Models are the ready models, sorted by name.
	Models []*triton.Model
	// Sick has the reasons why models of Models are sick, by name.
	Sick map[string]string
	// Stale means that no replica answers. Models and Sick are then from the last look that was answered.
	Stale bool
	// Err is why the snapshot is stale.
	Err error
}

// Of returns the models of an API.
func (s *Snapshot) Of(api string) []*triton.Model {
	var models []*triton.Model
	for _, m := range s.Models {
		if m.API() == api {
			models = append(models, m)
		}
	}
	return models
}

// Model returns the model with a name.
func (s *Snapshot) Model(name string) (*triton.Model, bool) {
	i, ok := slices.BinarySearchFunc(s.Models, name, func(m *triton.Model, name string) int {
		return strings.Compare(m.Name, name)
	})
	if !ok {
		return nil, false
	}
	return s.Models[i], true
}

func (s *Snapshot) equal(o *Snapshot) bool {
	return s.Stale == o.Stale && slices.Equal(s.Models, o.Models) && maps.Equal(s.Sick, o.Sick)
}
