package triton

import (
	"fmt"
	"path/filepath"
)

// parameterID is the parameter with the id that clients use.
const parameterID = "model_id"

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
