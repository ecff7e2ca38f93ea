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

// Catalog holds what one API makes of its models: it follows a registry, opens each model when it appears or changes,
// and forgets it when it goes. What was opened before a change serves the requests that already hold it.
type Catalog[T any] struct {
	api    string
	sets   func([]*triton.Model) [][]*triton.Model
	open   func([]*triton.Model) (T, error)
	logger zerolog.Logger
	names  map[string]string // more names: see AlsoNamed
	table  atomic.Pointer[catalogTable[T]]
}

type catalogTable[T any] struct {
	ids    []string
	items  map[string]T
	made   []opened[T]
	stale  error
	faults []string
	sick   map[string]string // public ids of models that do not answer, with the reason
	// gone has the public ids of models that left the repository while they did not answer, and when: whoever looks
	// after Triton unloads such a model to load it again.
	gone map[string]time.Time
}

// reloadTime is for how long a model that left while it did not answer is taken to be on its way back.
const reloadTime = 15 * time.Second

// opened is what was made of a set of entries.
type opened[T any] struct {
	models []*triton.Model
	item   T
	err    error
}

// NewCatalog opens the models of an API as the registry finds them. A model that cannot be opened is logged and left
// out until it changes. observe is told how many can serve.
func NewCatalog[T any](r *Registry, api string, logger zerolog.Logger, observe func(ready int), open func(*triton.Model) (T, error)) *Catalog[T] {
	one := func(models []*triton.Model) [][]*triton.Model { return slices.Collect(slices.Chunk(models, 1)) }
	return newCatalog(r, api, logger, observe, one, func(models []*triton.Model) (T, error) { return open(models[0]) })
}

// NewSetCatalog is NewCatalog for an API whose models are several entries of the repository, such as an encoder and a
// decoder: the ready entries of one public id are opened together, in the order of their names, and again when any of
// them changes.
func NewSetCatalog[T any](r *Registry, api string, logger zerolog.Logger, observe func(ready int), open func([]*triton.Model) (T, error)) *Catalog[T] {
	return newCatalog(r, api, logger, observe, byPublicID, open)
}

func newCatalog[T any](r *Registry, api string, logger zerolog.Logger, observe func(int), sets func([]*triton.Model) [][]*triton.Model, open func([]*triton.Model) (T, error)) *Catalog[T] {
	c := &Catalog[T]{api: api, sets: sets, open: open, logger: logger.With().Str("api", api).Logger()}
	c.table.Store(&catalogTable[T]{})
	r.Follow(func(s *Snapshot) {
		c.follow(s)
		observe(len(c.IDs()))
	})
	return c
}

// byPublicID groups models; the groups are in the order of their first names.
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

func (c *Catalog[T]) follow(s *Snapshot) {
	old := c.table.Load()
	now := &catalogTable[T]{items: map[string]T{}, sick: map[string]string{}, gone: map[string]time.Time{}}
	if s.Stale {
		now.stale = s.Err
	}
	for _, set := range c.sets(s.Of(c.api)) {
		name := set[0].Name
		id := set[0].PublicID()
		made := c.made(old, set)
		now.made = append(now.made, made)
		_, taken := now.items[id]
		sick := sickness(s, set)
		switch {
		case sick != "":
			now.faults = append(now.faults, sick)
			now.sick[id] = sick
		case made.err != nil:
			now.faults = append(now.faults, fmt.Sprintf("%s: %v", name, made.err))
		case taken:
			c.logger.Error().Str("model", name).Str("model_id", id).Msg("another model has the same model_id; this one is not served")
		default:
			now.items[id] = made.item
			now.ids = append(now.ids, id)
		}
	}
	slices.SortFunc(now.ids, cmp.Compare)
	now.miss(old)
	c.table.Store(now)
}

// miss notes which of the models that did not answer before have left.
func (t *catalogTable[T]) miss(old *catalogTable[T]) {
	maps.Copy(t.gone, old.gone)
	for id := range old.sick {
		t.gone[id] = time.Now()
	}
	for id, since := range t.gone {
		_, served := t.items[id]
		_, sick := t.sick[id]
		if served || sick || time.Since(since) > reloadTime {
			delete(t.gone, id)
		}
	}
}

// sickness says which of the models does not answer, and why; "" when all do.
func sickness(s *Snapshot, set []*triton.Model) string {
	for _, m := range set {
		if reason, sick := s.Sick[m.Name]; sick {
			return fmt.Sprintf("model %s does not answer: %s", m.Name, reason)
		}
	}
	return ""
}

// made returns what the old table made of the same entries, or opens them.
func (c *Catalog[T]) made(old *catalogTable[T], set []*triton.Model) opened[T] {
	for _, made := range old.made {
		if slices.Equal(made.models, set) {
			return made
		}
	}
	made := opened[T]{models: set}
	if made.item, made.err = c.open(set); made.err != nil {
		c.logger.Error().Err(made.err).Str("model", set[0].Name).Msg("model cannot be served")
	}
	return made
}

// Find returns the model with a public id. The error is that of Ready, Unavailable where the model does not answer at
// present or is being loaded again after that, or NotFound where other models can be served.
func (c *Catalog[T]) Find(id string) (item T, err error) {
	if err := c.Ready(); err != nil {
		return item, err
	}
	table := c.table.Load()
	item, ok := table.items[id]
	if target, more := c.names[id]; more && !ok {
		if target == "" {
			return c.Default("")
		}
		id = target
		item, ok = table.items[id]
	}
	reason, unavailable := table.sick[id]
	if since, gone := table.gone[id]; gone && time.Since(since) < reloadTime {
		reason = "model " + id + " is being loaded again"
		unavailable = true
	}
	if unavailable {
		return item, &fault.Error{Kind: fault.Unavailable, Message: "Service is not ready: " + reason + ".", RetryAfter: time.Second}
	}
	if !ok {
		return item, fault.Missing(fault.Model, "The model `%s` does not exist.", fault.Clip(id))
	}
	return item, nil
}

// AlsoNamed has models answer to more names: the public id by name, or "" for the model that serves requests which name
// none. A public id that is also such a name stays the id. It is called before the first Find.
func (c *Catalog[T]) AlsoNamed(names map[string]string) { c.names = names }

// Default returns the model that serves requests which name none: the one configured, or the first by public id where
// configured is "". It never puts another model in the place of a configured one that is absent: that is Unavailable,
// as is an API without models.
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
		return item, &fault.Error{
			Kind:       fault.Unavailable,
			Message:    "Service is not ready: model " + configured + " is not loaded.",
			RetryAfter: time.Second,
		}
	}
	return item, nil
}

// IDs lists the public ids that can be served, in order.
func (c *Catalog[T]) IDs() []string { return c.table.Load().ids }

// All lists the models that can be served, by public id.
func (c *Catalog[T]) All() []T {
	table := c.table.Load()
	all := make([]T, len(table.ids))
	for i, id := range table.ids {
		all[i] = table.items[id]
	}
	return all
}

// Ready returns nil when at least one model can be served, else Unavailable with the reason.
func (c *Catalog[T]) Ready() error {
	table := c.table.Load()
	reason := ""
	switch {
	case table.stale != nil:
		reason = "Triton does not answer"
	case len(table.ids) > 0:
		return nil
	case len(table.faults) > 0:
		reason = strings.Join(table.faults, "; ")
	default:
		reason = "no model of this API is loaded"
	}
	return &fault.Error{Kind: fault.Unavailable, Message: "Service is not ready: " + reason + ".", RetryAfter: time.Second, Err: table.stale}
}
