package triton

import (
	"context"
	"strings"
	"time"

	pb "retort/orchestrator/triton/inferencepb"
)

// ModelState is a version of a model in the repository index of a replica. Version and State are empty for a model that
// was never loaded.
type ModelState struct {
	Name, Version string
	State, Reason string // Triton's words, such as READY, or UNAVAILABLE with the reason
}

// Ready reports whether the version accepts requests.
func (s ModelState) Ready() bool { return s.State == ready }

// Failed reports whether the version could not be loaded.
func (s ModelState) Failed() bool {
	return s.State == "UNAVAILABLE" && s.Reason != "" && s.Reason != "unloaded"
}

// States returns the repository index of this replica. The error is gRPC's.
func (r *Replica) States(ctx context.Context) ([]ModelState, error) {
	answer, err := r.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
	var states []ModelState
	for _, m := range answer.GetModels() {
		states = append(states, ModelState{Name: m.Name, Version: m.Version, State: m.State, Reason: m.Reason})
	}
	return states, err
}

// Load loads a model on this replica and returns when it is ready. An older form of it serves until then. The error is
// gRPC's: see IsPolling.
func (r *Replica) Load(ctx context.Context, model string) error {
	_, err := r.service.RepositoryModelLoad(ctx, &pb.RepositoryModelLoadRequest{ModelName: model})
	return err
}

// Unload unloads a model on this replica and returns when the replica has released it, or after 5 s. Unloading a model
// that is not loaded is no error.
func (r *Replica) Unload(ctx context.Context, model string) error {
	if _, err := r.service.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: model}); err != nil {
		return err
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		states, err := r.States(ctx)
		if err != nil {
			return err
		}
		unloading := false
		for _, s := range states {
			unloading = unloading || s.Name == model && s.State == "UNLOADING"
		}
		if !unloading {
			return nil
		}
	}
	return nil
}

// IsPolling reports whether an error of Load or Unload means that the replica follows the files of the repository by
// itself (--model-control-mode=poll) and refuses both.
func IsPolling(err error) bool {
	return err != nil && strings.Contains(err.Error(), "explicit model load / unload is not allowed if polling is enabled")
}
