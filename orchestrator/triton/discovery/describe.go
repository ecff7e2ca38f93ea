package discovery

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// A look describes at least minDescribed of the models with unchanged versions, and enough that each is described
// within describeWithin looks. A description costs one call, two if the model has changed, and a listing of the model's
// folder.
const (
	minDescribed   = 64
	describeWithin = 4
	// maxDescriptions is the number of models described in parallel.
	maxDescriptions = 32
)

// describe returns descriptions of the ready models, sorted by name. ready has their versions by name.
func (r *Registry) describe(ctx context.Context, ready map[string][]string, old *Snapshot) []*triton.Model {
	names := slices.Sorted(maps.Keys(ready))
	count := max(minDescribed, (len(names)+describeWithin-1)/describeWithin)
	models := make([]*triton.Model, len(names))
	var calls sync.WaitGroup
	permits := make(chan struct{}, maxDescriptions)
	for i, name := range names {
		before, known := old.Model(name)
		isDue := (i-r.next+len(names))%len(names) < count
		if known && !isDue && slices.Equal(before.Versions, ready[name]) {
			models[i] = before
			continue
		}
		permits <- struct{}{}
		calls.Go(func() {
			models[i] = r.describeModel(ctx, name, ready[name], before)
			<-permits
		})
	}
	calls.Wait()
	r.next = (r.next + count) % max(len(names), 1)
	return slices.DeleteFunc(models, func(m *triton.Model) bool { return m == nil })
}

// describeModel returns a description of a model: before if nothing has changed, or nil if the model has gone since it
// was listed. before is nil for a new model. The tensors follow from the configuration, so they are requested only if
// it has changed.
func (r *Registry) describeModel(
	ctx context.Context, name string, versions []string, before *triton.Model,
) *triton.Model {
	m := &triton.Model{Name: name, Versions: versions}
	m.Dir, m.Fingerprint = folder(r.config.Repository, name)
	var err error
	if m.Config, err = r.client.ModelConfig(ctx, name); err != nil {
		return unlessNotFound(before, err)
	}
	if before != nil && isSame(before, m) {
		return before
	}
	if m.Inputs, m.Outputs, err = r.client.ModelTensors(ctx, name); err != nil {
		return unlessNotFound(before, err)
	}
	r.client.Forget(name)
	return m
}

// unlessNotFound returns the earlier description of a model after an error, or nil if the model does not exist.
func unlessNotFound(before *triton.Model, err error) *triton.Model {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return before
}

// isSame reports whether two descriptions have the same versions, configuration and files.
func isSame(a, b *triton.Model) bool {
	return a.Dir == b.Dir && a.Fingerprint == b.Fingerprint &&
		slices.Equal(a.Versions, b.Versions) && a.Config.Equal(b.Config)
}

// folder returns the folder of a model and a fingerprint of its files: names, sizes and modification times. It leaves
// out the folders of versions, whose files only Triton reads.
func folder(repository, name string) (dir, fingerprint string) {
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
