package discovery

import (
	"maps"
	"slices"
	"strings"

	"retort/orchestrator/triton"
)

// Snapshot is what the replicas served at one moment. It never changes.
type Snapshot struct {
	// Models are the ready models, by name.
	Models []*triton.Model
	// Sick are the ready models that no replica can answer at present, with the reason. They are in Models too.
	Sick map[string]string
	// Stale is set while no replica answers. The other fields are then of the last look that was answered.
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

// Model returns the model of that name.
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
