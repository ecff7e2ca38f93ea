package triton

import (
	"fmt"
	"path/filepath"
)

const (
	// parameterAPI names the API that the model serves. All other parameters belong to that API or to the backend.
	parameterAPI = "retort_api"
	// parameterID is the model's public id.
	parameterID = "model_id"
)

// Model is a model that is ready on at least one replica. It is immutable: a model that changes becomes another *Model,
// so the pointer identifies one state of the model.
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

// API returns the API that the model serves, or "" if its configuration names none.
func (m *Model) API() string { return m.Config.Parameters[parameterAPI] }

// Version returns the newest ready version.
func (m *Model) Version() string { return m.Versions[len(m.Versions)-1] }

// PublicID returns the id that clients use: the parameter model_id, or the name.
func (m *Model) PublicID() string { return m.Parameter(parameterID, m.Name) }

// Parameter returns a parameter of the model's configuration, or a fallback if it is absent.
func (m *Model) Parameter(name, fallback string) string {
	if value, ok := m.Config.Parameters[name]; ok {
		return value
	}
	return fallback
}

// File returns the path of a file in the model's folder.
func (m *Model) File(name string) (string, error) {
	if m.Dir == "" {
		const format = "the folder of model %s, which has %s, cannot be read: is the setting model-repository right?"
		return "", fmt.Errorf(format, m.Name, name)
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("file %q is not in the folder of model %s", name, m.Name)
	}
	return filepath.Join(m.Dir, name), nil
}

// OutputSize returns the last dimension of an output, which must be fixed.
func (m *Model) OutputSize(name string) (int, error) {
	for _, o := range m.Outputs {
		if o.Name == name && len(o.Shape) > 0 && o.Shape[len(o.Shape)-1] > 0 {
			return int(o.Shape[len(o.Shape)-1]), nil
		}
	}
	return 0, fmt.Errorf("model %s has no output %s with a fixed last dimension", m.Name, name)
}
