package modelcheck

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"retort/orchestrator/chat"
	"retort/orchestrator/embedding"
	"retort/orchestrator/latent"
	"retort/orchestrator/masked"
	"retort/orchestrator/oracle"
	"retort/orchestrator/ranking"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
)

// Options say what to check and where it is served.
type Options struct {
	Repository string // folder of the model repository
	Entry      string // its subfolder
	Triton     triton.Config
	// Molecules are the SMILES for the molecule APIs. Default: DefaultMolecules.
	Molecules []string
}

//go:embed molecules.smi
var defaultMolecules string

// DefaultMolecules are common small molecules, mostly drugs and their building blocks.
func DefaultMolecules() []string { return strings.Fields(defaultMolecules) }

// options let all rows of a call share one batch.
var options = batching.Options{MaxTokens: 1 << 20, Concurrency: 1}

// Run checks an entry. An error means that there is no report: the entry or Triton cannot be reached.
func Run(ctx context.Context, o Options) (*Report, error) {
	config, err := discovery.ReadConfig(o.Repository, o.Entry)
	if err != nil {
		return nil, err
	}
	if len(o.Molecules) == 0 {
		o.Molecules = DefaultMolecules()
	}
	client, err := triton.Dial(o.Triton)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	registry := discovery.NewRegistry(client, discovery.Config{Every: time.Second / 4, Repository: o.Repository})
	defer registry.Close()
	described := &triton.Model{Name: o.Entry, Config: config}
	report := &Report{Entry: o.Entry, API: described.API(), Model: described.PublicID()}
	c := &check{Options: o, client: client, Report: report}
	c.run(ctx, registry, described)
	c.end()
	return c.Report, ctx.Err()
}

// check is a check in progress.
type check struct {
	Options
	*Report
	client *triton.Client
}

func (c *check) run(ctx context.Context, registry *discovery.Registry, described *triton.Model) {
	check, ok := c.apis()[c.API]
	if !c.require(ok, "retort_api", "an API of the gateway", "%q", c.API) {
		return
	}
	entries, err := c.find(ctx, registry, described)
	if err != nil {
		c.require(false, "loaded", "ready in Triton", "%v", err)
		return
	}
	c.pass("loaded", "ready in Triton", "version %s", entries[0].Version())
	check(ctx, entries)
}

// apis returns what checks the entries of each API.
func (c *check) apis() map[string]func(context.Context, []*triton.Model) {
	openOracle := oracle.Opener(c.client, oracle.Config{Timeout: time.Minute}, options, func(string, string, int) {})
	return map[string]func(context.Context, []*triton.Model){
		"embedding": single(c, "embedding", embedding.Opener(c.client, options), c.embedding),
		"ranking":   single(c, "ranking", ranking.Opener(c.client, options), c.ranking),
		"masked":    single(c, "masked", masked.Opener(c.client, options), c.masked),
		"chat":      single(c, "chat", chat.Opener(c.client), c.chat),
		oracle.API:  single(c, oracle.API, openOracle, c.oracle),
		"latent":    opened(c, "latent", latent.Opener(c.client, options), c.latent),
	}
}

// single is opened for an API whose models are single entries.
func single[T any](
	c *check, api string, open func(*triton.Model) (T, error), check func(context.Context, T),
) func(context.Context, []*triton.Model) {
	openFirst := func(entries []*triton.Model) (T, error) { return open(entries[0]) }
	return opened(c, api, openFirst, check)
}

// opened returns a function that compares the tensors of entries with those of the API, opens the model and checks it.
func opened[T any](
	c *check, api string, open func([]*triton.Model) (T, error), check func(context.Context, T),
) func(context.Context, []*triton.Model) {
	return func(ctx context.Context, entries []*triton.Model) {
		tensors := checkTensors(api, entries[0])
		if !c.require(tensors == nil, "tensors", "those of the API", "%v", errorOr(tensors, "as documented")) {
			return
		}
		model, err := open(entries)
		if c.require(err == nil, "parameters and files", "as MODELS.md documents", "%v", errorOr(err, "valid")) {
			check(ctx, model)
		}
	}
}

func errorOr(err error, text string) any {
	if err != nil {
		return err
	}
	return text
}

// find returns the ready entries of the model, the checked one first: all with its public id for the latent API, whose
// models have several.
func (c *check) find(
	ctx context.Context, registry *discovery.Registry, described *triton.Model,
) (entries []*triton.Model, err error) {
	err = registry.Await(ctx, func(snapshot *discovery.Snapshot) bool {
		entry, ok := snapshot.Model(c.Options.Entry)
		if !ok {
			return false
		}
		entries = []*triton.Model{entry}
		for _, other := range snapshot.Of(described.API()) {
			if other != entry && other.PublicID() == entry.PublicID() {
				entries = append(entries, other)
			}
		}
		return c.API != "latent" || len(entries) > 1
	})
	switch {
	case errors.Is(err, discovery.ErrNotLoaded) && len(entries) > 0:
		return entries, nil
	case errors.Is(err, discovery.ErrNotLoaded):
		return nil, fmt.Errorf("no Triton at %s has loaded it; its log says why", strings.Join(c.Triton.URLs, ", "))
	}
	return entries, err
}
