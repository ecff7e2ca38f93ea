package modelcalibrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// readyTimeout is how long an entry may take to appear: an entry that was just added is loaded within seconds.
const readyTimeout = 15 * time.Second

// inFlight is the number of queries, or of parts of a list of texts, that are sent at once.
const inFlight = 4

// API returns the API of the entry, from its config.pbtxt.
func API(repository, entry string) (string, error) {
	if !filepath.IsLocal(entry) || strings.ContainsRune(entry, filepath.Separator) {
		return "", fmt.Errorf("%q is not the name of a folder in %s", entry, repository)
	}
	file := filepath.Join(repository, entry, "config.pbtxt")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
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
	entry, err := await(ctx, registry, o)
	if err != nil {
		return err
	}
	model, err := open(client, batching.Options{Concurrency: inFlight})(entry)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Entry, err)
	}
	return use(model)
}

// await returns the entry once Triton has loaded it.
func await(ctx context.Context, registry *discovery.Registry, o Options) (*triton.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := registry.Refresh(ctx)
		if entry, ok := registry.Snapshot().Model(o.Entry); ok && err == nil {
			return entry, nil
		}
		select {
		case <-ctx.Done():
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return nil, err
			}
			return nil, fmt.Errorf("no Triton at %s has loaded %s; its log says why",
				strings.Join(o.Triton.URLs, ", "), o.Entry)
		case <-time.After(time.Second / 4):
		}
	}
}

func (o Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}
