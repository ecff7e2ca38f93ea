package triton

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParameterAPI is the parameter of a model's configuration that names the API it serves. All others belong to that API.
const ParameterAPI = "retort_api"

// Model is a model that at least one replica has ready. It never changes: when anything about the model does, the next
// snapshot holds another *Model, so a pointer is enough to remember what was made from it.
type Model struct {
	Name string
	// Versions are those that are ready, oldest first.
	Versions []string
	// Config is that of the version a request without a version gets.
	Config *ModelConfig
	// Inputs and Outputs have the shapes of the wire.
	Inputs, Outputs []TensorInfo
	// Dir is the model's folder with the files beside its configuration, "" when this process cannot read it. A file
	// that changes there makes another *Model as well.
	Dir string

	files string
}

// API returns the API that the model says it serves, "" for none.
func (m *Model) API() string { return m.Config.Parameters[ParameterAPI] }

// Version returns the newest version that is ready.
func (m *Model) Version() string { return m.Versions[len(m.Versions)-1] }

// like reports whether a model has the same versions, configuration and files as another.
func (m *Model) like(o *Model) bool {
	return m.Dir == o.Dir && m.files == o.files && slices.Equal(m.Versions, o.Versions) && reflect.DeepEqual(m.Config, o.Config)
}

// Snapshot is what the replicas served at one moment.
type Snapshot struct {
	// Models are those that are ready, by name.
	Models []*Model
	// Sick are ready models that no replica can answer at present, with the reason. They are among Models too.
	Sick map[string]string
	// Entries are the lines of all replicas' indexes: why a model is missing.
	Entries []Entry
	// Stale is set while no replica answers: the rest is of the time before.
	Stale bool
	// Err says why it is stale.
	Err error
	// At is when it was seen.
	At time.Time
}

// Of returns the models of an API.
func (s *Snapshot) Of(api string) []*Model {
	var models []*Model
	for _, m := range s.Models {
		if m.API() == api {
			models = append(models, m)
		}
	}
	return models
}

// Model returns the model of that name.
func (s *Snapshot) Model(name string) (*Model, bool) {
	i, ok := slices.BinarySearchFunc(s.Models, name, func(m *Model, name string) int { return strings.Compare(m.Name, name) })
	if !ok {
		return nil, false
	}
	return s.Models[i], true
}

// Known reports whether the repository of any replica has a model of that name, ready or not.
func (s *Snapshot) Known(name string) bool {
	return slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Name == name })
}

// equal compares what watchers are told of: everything but the time.
func (s *Snapshot) equal(o *Snapshot) bool {
	return s.Stale == o.Stale && slices.Equal(s.Models, o.Models) && slices.Equal(s.Entries, o.Entries) && maps.Equal(s.Sick, o.Sick)
}

// readyVersions returns the ready versions of each model on any replica.
func readyVersions(entries []Entry) map[string][]string {
	ready := make(map[string][]string)
	for _, e := range entries {
		if e.State == Ready && !slices.Contains(ready[e.Name], e.Version) {
			ready[e.Name] = append(ready[e.Name], e.Version)
		}
	}
	for _, versions := range ready {
		slices.SortFunc(versions, func(a, b string) int {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
		})
	}
	return ready
}

// folder returns the folder of a model and a word that changes with the files in it. The folders of versions are left
// out: their files are Triton's.
func folder(repository, name string) (dir, files string) {
	if repository == "" {
		return "", ""
	}
	dir = filepath.Join(repository, name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", ""
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && !info.IsDir() {
			fmt.Fprintf(&b, "%s %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return dir, b.String()
}
