package discovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"retort/orchestrator/triton"
)

// loadTimeout is how long Await waits: an entry that was just added is loaded within seconds.
const loadTimeout = 15 * time.Second

// ErrNotLoaded says that Triton has not loaded what Await waits for.
var ErrNotLoaded = errors.New("not loaded by any Triton")

// ReadConfig reads the config.pbtxt of an entry, which is the name of a folder in a model repository.
func ReadConfig(repository, entry string) (*triton.ModelConfig, error) {
	if !filepath.IsLocal(entry) || strings.ContainsRune(entry, filepath.Separator) {
		return nil, fmt.Errorf("%q is not the name of a folder in %s", entry, repository)
	}
	file := filepath.Join(repository, entry, "config.pbtxt")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

// Await looks again and again until isLoaded accepts a snapshot. After loadTimeout it returns the error of the last
// look, or ErrNotLoaded.
func (r *Registry) Await(ctx context.Context, isLoaded func(*Snapshot) bool) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	for {
		err := r.Refresh(ctx)
		if err == nil && isLoaded(r.Snapshot()) {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return ErrNotLoaded
		case <-time.After(r.config.Every):
		}
	}
}
