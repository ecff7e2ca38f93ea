package triton

import (
	"fmt"
	"path/filepath"
)

const (
	// parameterAPI is the parameter that names the API which the model serves. All others belong to that API.
	parameterAPI = "retort_api"
	// parameterID is the parameter that holds the model's public id.
	parameterID = "model_id"
)

// Model is a model that at least one replica has ready. It never changes: a model that changes becomes another *Model,
// so a pointer identifies one state of the model.
type Model struct {
	Name string
	// Versions are the ready versions, oldest first.
	Versions []string
	// Config is the configuration of the version that serves requests without a version.
	Config *ModelConfig
	// Inputs and Outputs have the shapes of the wire.
	Inputs, Outputs []TensorInfo
	// Dir is the model's folder in the model repository, or "" if this process cannot read it.
	Dir string
	// Fingerprint changes with the files in Dir.
	Fingerprint string
}

// API returns the API that the model says it serves, or "" if it names none.
func (m *Model) API() string { return m.Config.Parameters[parameterAPI] }

// Version returns the newest ready version.
func (m *Model) Version() string { return m.Versions[len(m.Versions)-1] }

// PublicID is the id that clients use: the parameter model_id, or the name.
func (m *Model) PublicID() string { return m.Parameter(parameterID, m.Name) }

// Parameter returns a parameter of the model's configuration, or a default where it is absent.
func (m *Model) Parameter(name, otherwise string) string {
	if value, ok := m.Config.Parameters[name]; ok {
		return value
	}
	return otherwise
}

// File is the path of a file beside the model's configuration. It must lie in the model's folder.
func (m *Model) File(name string) (string, error) {
	if m.Dir == "" {
		return "", fmt.Errorf("the folder of model %s, which has %s, cannot be read: is the setting model-repository right?", m.Name, name)
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("file %q is not in the folder of model %s", name, m.Name)
	}
	return filepath.Join(m.Dir, name), nil
}

// OutputSize is the last dimension of an output.
func (m *Model) OutputSize(name string) (int, error) {
	for _, o := range m.Outputs {
		if o.Name == name && len(o.Shape) > 0 && o.Shape[len(o.Shape)-1] > 0 {
			return int(o.Shape[len(o.Shape)-1]), nil
		}
	}
	return 0, fmt.Errorf("model %s has no output %s with a fixed last dimension", m.Name, name)
}
