package discovery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// Catalog holds the opened models of one API. It follows a registry: it opens models that appear or change, and drops
// those that go. Requests that hold an item keep it after such a change.
type Catalog[T any] struct {
	api     string
	group   func([]*triton.Model) [][]*triton.Model // splits models into sets to open together
	open    func([]*triton.Model) (T, error)
	logger  zerolog.Logger
	aliases map[string]string // public ids by alias: see SetAliases
	table   atomic.Pointer[catalogTable[T]]
}

// catalogTable is what a catalog derives from one snapshot.
type catalogTable[T any] struct {
	ids      []string     // that can be served, sorted
	items    map[string]T // that can be served, by public id
	unserved map[string]T // that are sick, by public id
	opened   []opened[T]
	staleErr error             // why the snapshot is stale, or nil
	problems []string          // of models that cannot be served
	sick     map[string]string // reasons by public id
	// reloading has the public ids of models that left the repository while they were sick, and when: operators unload
	// a sick model to load it again.
	reloading map[string]time.Time
}

// reloadTime is how long a model that left the repository while it was sick is expected to come back.
const reloadTime = 15 * time.Second

// opened is the result of opening a set of models.
type opened[T any] struct {
	models []*triton.Model
	item   T
	err    error
}

// NewCatalog returns a catalog of an API whose models are single entries of the repository. A model that cannot be
// opened is logged, and not served until it changes. observe is called with the number of models that can be served.
func NewCatalog[T any](
	r *Registry, api string, logger zerolog.Logger, observe func(ready int), open func(*triton.Model) (T, error),
) *Catalog[T] {
	single := func(models []*triton.Model) [][]*triton.Model { return slices.Collect(slices.Chunk(models, 1)) }
	openSingle := func(models []*triton.Model) (T, error) { return open(models[0]) }
	return newCatalog(r, api, logger, observe, single, openSingle)
}

// NewSetCatalog is NewCatalog for an API whose models are sets of entries, such as an encoder and a decoder. The ready
// entries with one public id are opened together, in the order of their names, and again when any of them changes.
func NewSetCatalog[T any](
	r *Registry, api string, logger zerolog.Logger, observe func(ready int), open func([]*triton.Model) (T, error),
) *Catalog[T] {
	return newCatalog(r, api, logger, observe, byPublicID, open)
}

func newCatalog[T any](
	r *Registry, api string, logger zerolog.Logger, observe func(int),
	group func([]*triton.Model) [][]*triton.Model, open func([]*triton.Model) (T, error),
) *Catalog[T] {
	c := &Catalog[T]{api: api, group: group, open: open, logger: logger.With().Str("api", api).Logger()}
	c.table.Store(&catalogTable[T]{})
	r.Follow(func(s *Snapshot) {
		c.update(s)
		observe(len(c.IDs()))
	})
	return c
}

// byPublicID groups models by public id, in the order of the first model of each group.
func byPublicID(models []*triton.Model) [][]*triton.Model {
	var sets [][]*triton.Model
	for _, m := range models {
		i := slices.IndexFunc(sets, func(set []*triton.Model) bool { return set[0].PublicID() == m.PublicID() })
		if i < 0 {
			sets = append(sets, nil)
			i = len(sets) - 1
		}
		sets[i] = append(sets[i], m)
	}
	return sets
}

// update replaces the table by one for a new snapshot.
func (c *Catalog[T]) update(s *Snapshot) {
	old := c.table.Load()
	table := &catalogTable[T]{
		items:     map[string]T{},
		unserved:  map[string]T{},
		sick:      map[string]string{},
		reloading: map[string]time.Time{},
	}
	if s.Stale {
		table.staleErr = s.Err
	}
	for _, set := range c.group(s.Of(c.api)) {
		name := set[0].Name
		id := set[0].PublicID()
		result := c.reuseOrOpen(old, set)
		table.opened = append(table.opened, result)
		_, isDuplicate := table.items[id]
		sickness := sicknessOf(s, set)
		switch {
		case sickness != "":
			table.problems = append(table.problems, sickness)
			table.sick[id] = sickness
			if result.err == nil {
				table.unserved[id] = result.item
			}
		case result.err != nil:
			table.problems = append(table.problems, fmt.Sprintf("%s: %v", name, result.err))
		case isDuplicate:
			c.logger.Error().Str("model", name).Str("model_id", id).
				Msg("another model has the same model_id; this one is not served")
		default:
			table.items[id] = result.item
			table.ids = append(table.ids, id)
		}
	}
	slices.SortFunc(table.ids, cmp.Compare)
	table.rememberReloading(old)
	c.table.Store(table)
}

// rememberReloading records the models that were sick in the old table and have left the repository.
func (t *catalogTable[T]) rememberReloading(old *catalogTable[T]) {
	maps.Copy(t.reloading, old.reloading)
	for id := range old.sick {
		t.reloading[id] = time.Now()
	}
	for id, since := range t.reloading {
		_, isServed := t.items[id]
		_, isSick := t.sick[id]
		if isServed || isSick || time.Since(since) > reloadTime {
			delete(t.reloading, id)
		}
	}
}

// sicknessOf returns why the first sick model of a set does not answer, or "" if all are healthy.
func sicknessOf(s *Snapshot, set []*triton.Model) string {
	for _, m := range set {
		if reason, ok := s.Sick[m.Name]; ok {
			return fmt.Sprintf("model %s does not answer: %s", m.Name, reason)
		}
	}
	return ""
}

// reuseOrOpen returns the old table's result for the same models, or opens them.
func (c *Catalog[T]) reuseOrOpen(old *catalogTable[T], set []*triton.Model) opened[T] {
	for _, result := range old.opened {
		if slices.Equal(result.models, set) {
			return result
		}
	}
	result := opened[T]{models: set}
	if result.item, result.err = c.open(set); result.err != nil {
		c.logger.Error().Err(result.err).Str("model", set[0].Name).Msg("model cannot be served")
	}
	return result
}

// notReady returns an Unavailable fault.
func notReady(reason string, err error) error {
	return &fault.Error{
		Kind:       fault.Unavailable,
		Message:    "Service is not ready: " + reason + ".",
		RetryAfter: time.Second,
		Err:        err,
	}
}

// Find returns the model with a public id or alias. The error is that of Ready, else Unavailable if the model is sick
// or being loaded again after that, else NotFound.
func (c *Catalog[T]) Find(id string) (item T, err error) {
	if err := c.Ready(); err != nil {
		return item, err
	}
	table := c.table.Load()
	item, ok := table.items[id]
	if target, isAlias := c.aliases[id]; isAlias && !ok {
		if target == "" {
			return c.Default("")
		}
		id = target
		item, ok = table.items[id]
	}
	if since, isReloading := table.reloading[id]; isReloading && time.Since(since) < reloadTime {
		return item, notReady("model "+id+" is being loaded again", nil)
	}
	if reason, isSick := table.sick[id]; isSick {
		return item, notReady(reason, nil)
	}
	if !ok {
		return item, fault.Missing(fault.Model, "The model `%s` does not exist.", fault.Clip(id))
	}
	return item, nil
}

// SetAliases sets aliases: public ids by alias, or "" for the default model. A public id takes precedence over an equal
// alias. SetAliases must be called before the first Find.
func (c *Catalog[T]) SetAliases(aliases map[string]string) { c.aliases = aliases }

// Default returns the model for requests that name none: the configured one or, if configured is "", the first by
// public id. The error is Unavailable if the configured model is absent, since no other model replaces it, or if the
// API has no models.
func (c *Catalog[T]) Default(configured string) (item T, err error) {
	if err := c.Ready(); err != nil {
		return item, err
	}
	table := c.table.Load()
	if configured == "" && len(table.ids) > 0 {
		configured = table.ids[0]
	}
	item, ok := table.items[configured]
	if !ok {
		return item, notReady("model "+configured+" is not loaded", nil)
	}
	return item, nil
}

// IDs returns the public ids that can be served, sorted.
func (c *Catalog[T]) IDs() []string { return c.table.Load().ids }

// All returns the models that can be served, sorted by public id.
func (c *Catalog[T]) All() []T {
	table := c.table.Load()
	all := make([]T, len(table.ids))
	for i, id := range table.ids {
		all[i] = table.items[id]
	}
	return all
}

// Sick returns the models that are loaded but do not answer, sorted by public id.
func (c *Catalog[T]) Sick() []T {
	table := c.table.Load()
	var all []T
	for _, id := range slices.Sorted(maps.Keys(table.unserved)) {
		if _, isServed := table.items[id]; !isServed { // by another entry
			all = append(all, table.unserved[id])
		}
	}
	return all
}

// Ready returns nil if at least one model can be served, else Unavailable with the reason.
func (c *Catalog[T]) Ready() error {
	table := c.table.Load()
	switch {
	case table.staleErr != nil:
		return notReady("Triton does not answer", table.staleErr)
	case len(table.ids) > 0:
		return nil
	case len(table.problems) > 0:
		return notReady(strings.Join(table.problems, "; "), nil)
	}
	return notReady("no model of this API is loaded", nil)
}
