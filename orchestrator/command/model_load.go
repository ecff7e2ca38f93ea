package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"retort/orchestrator/modelimport"
	"retort/orchestrator/triton"
)

const (
	// answerTime is how long a replica may take to list its models.
	answerTime = 5 * time.Second
	// pollTime is how long a replica that follows the files by itself may take to notice an entry.
	pollTime = time.Minute
)

// loadFlags are the flags of the commands that create entries.
type loadFlags struct {
	Load bool `env:"-" help:"Load the entry into every replica of the gateway's Triton (--triton-url), and wait until it is ready. If Triton cannot load it, its message is printed, and the repository is as before."`
}

// run creates an entry with the given name and, with --load, loads it.
func (f loadFlags) run(
	p *Process, r Repository, folder, name string, create func() (*modelimport.Result, error),
) error {
	if !f.Load {
		return p.printEntry(create())
	}
	client, replicas, err := r.dial(p.Context)
	if err != nil {
		return fmt.Errorf("%w: nothing was created", err)
	}
	defer client.Close()
	backup, err := modelimport.NewBackup(folder, name)
	if err != nil {
		return err
	}
	defer backup.Drop()
	result, err := create()
	if err != nil {
		return err
	}
	for _, replica := range replicas {
		start := time.Now()
		err = load(p.Context, replica, name, backup.Exists())
		switch {
		case errors.Is(err, errPolls):
			result.Notes = append(result.Notes, fmt.Sprintf("Triton at %s %v", replica.Address(), err))
			err = nil
		case err == nil:
			result.Notes = append(result.Notes, fmt.Sprintf("ready in Triton at %s after %v",
				replica.Address(), time.Since(start).Round(10*time.Millisecond)))
		default:
			err = fmt.Errorf("Triton at %s did not load %s: %w", replica.Address(), name, err)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		return p.printEntry(result, nil)
	}
	if failed := backup.Restore(); failed != nil {
		return errors.Join(err, failed)
	}
	// The context may have ended. A replica that polls notices the change by itself.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Context), pollTime)
	defer cancel()
	for _, replica := range replicas {
		if backup.Exists() {
			_ = replica.Load(ctx, name)
		} else {
			_ = replica.Unload(ctx, name)
		}
	}
	if backup.Exists() {
		return fmt.Errorf("%w\nthe earlier entry is in its place again", err)
	}
	return fmt.Errorf("%w\nthe entry was removed again", err)
}

// dial returns a client of the gateway's Triton and its replicas, all of which answer.
func (r Repository) dial(ctx context.Context) (*triton.Client, []*triton.Replica, error) {
	client, err := triton.Dial(r.Triton)
	if err != nil {
		return nil, nil, err
	}
	replicas := client.Live()
	if len(replicas) == 0 {
		client.Close()
		return nil, nil, fmt.Errorf("no address of --triton-url %v has a Triton", r.Triton.URLs)
	}
	for _, replica := range replicas {
		if _, err := states(ctx, replica); err != nil {
			client.Close()
			return nil, nil, fmt.Errorf("Triton at %s does not answer (%s)", replica.Address(), triton.Message(err))
		}
	}
	return client, replicas, nil
}

func states(ctx context.Context, replica *triton.Replica) ([]triton.ModelState, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return replica.States(ctx)
}

// errPolls means that a replica decides itself when it replaces an entry. Its index does not tell whether it has.
var errPolls = errors.New("polls its repository: it replaces the model by itself, and only its log says whether it could")

// load loads an entry on a replica, or waits until a replica that polls has loaded a new one. The error has Triton's
// reason.
func load(ctx context.Context, replica *triton.Replica, name string, replaced bool) error {
	err := replica.Load(ctx, name)
	if err == nil {
		return nil
	}
	if !triton.IsPolling(err) {
		return errors.New(triton.Message(err))
	}
	if replaced {
		return errPolls
	}
	for deadline := time.Now().Add(pollTime); ; {
		list, err := states(ctx, replica)
		if err != nil {
			return errors.New(triton.Message(err))
		}
		list = slices.DeleteFunc(list, func(s triton.ModelState) bool { return s.Name != name })
		switch {
		case slices.ContainsFunc(list, triton.ModelState.Failed):
			return errors.New(list[slices.IndexFunc(list, triton.ModelState.Failed)].Reason)
		case slices.ContainsFunc(list, triton.ModelState.Ready):
			return nil
		case !slices.ContainsFunc(list, func(s triton.ModelState) bool { return s.State == "LOADING" }) &&
			time.Now().After(deadline):
			return fmt.Errorf("it has not begun to load within %v: does this Triton poll this repository?", pollTime)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
