package modelcalibrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
)

// Options say what to calibrate and where it is served.
type Options struct {
	Repository string // folder of the model repository
	Entry      string // its subfolder
	Triton     triton.Config
	// Progress is called after each part of the work; may be nil.
	Progress func(done, total int)
}

// inFlight is the number of queries, or of parts of a list of texts, that are sent at once.
const inFlight = 4

// API returns the API of the entry, from its config.pbtxt.
func API(repository, entry string) (string, error) {
	config, err := discovery.ReadConfig(repository, entry)
	if err != nil {
		return "", err
	}
	return (&triton.Model{Config: config}).API(), nil
}

// opener is the function Opener of an API.
type opener[M any] func(*triton.Client, batching.Options) func(*triton.Model) (M, error)

// withModel opens the entry as the gateway does, and calls use with the model.
func withModel[M any](ctx context.Context, o Options, open opener[M], use func(M) error) error {
	client, err := triton.Dial(o.Triton)
	if err != nil {
		return err
	}
	defer client.Close()
	registry := discovery.NewRegistry(client, discovery.Config{Every: time.Second / 4, Repository: o.Repository})
	defer registry.Close()
	var entry *triton.Model
	err = registry.Await(ctx, func(snapshot *discovery.Snapshot) (ok bool) {
		entry, ok = snapshot.Model(o.Entry)
		return ok
	})
	switch {
	case errors.Is(err, discovery.ErrNotLoaded):
		return fmt.Errorf("no Triton at %s has loaded %s; its log says why", strings.Join(o.Triton.URLs, ", "), o.Entry)
	case err != nil:
		return err
	}
	model, err := open(client, batching.Options{Concurrency: inFlight})(entry)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Entry, err)
	}
	return use(model)
}

func (o Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}
