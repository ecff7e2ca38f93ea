package tritontest

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "retort/orchestrator/triton/inferencepb"
)

// Admin loads and unloads models of one server, which must run with explicit model control. Its errors are gRPC's.
type Admin struct {
	service pb.GRPCInferenceServiceClient
}

// NewAdmin connects to the server at "host:port" until the test ends.
func NewAdmin(tb testing.TB, url string) *Admin {
	tb.Helper()
	conn, err := grpc.NewClient(url, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &Admin{pb.NewGRPCInferenceServiceClient(conn)}
}

// Load loads or reloads a model and waits until it is ready. The old form serves until then. If config is not empty, it
// is the whole configuration in JSON and replaces config.pbtxt. A later load without config restores config.pbtxt only
// if the model's files have changed.
func (a *Admin) Load(ctx context.Context, model, config string) error {
	m := &pb.RepositoryModelLoadRequest{ModelName: model}
	if config != "" {
		m.Parameters = map[string]*pb.ModelRepositoryParameter{
			"config": {ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: config}},
		}
	}
	_, err := a.service.RepositoryModelLoad(ctx, m)
	return err
}

// Unload unloads a model and waits until the server has released it. The call itself returns when the model accepts no
// new requests; removing files or loading another model before the release may crash a real server (seen once with
// 24.10). A server that holds a cancelled request never releases the model, so Unload waits at most 5 s. Unloading a
// model that is not loaded is no error.
func (a *Admin) Unload(ctx context.Context, model string) error {
	if _, err := a.service.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: model}); err != nil {
		return err
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		states, err := a.states(ctx, model)
		if err != nil || !slices.Contains(states, unloading) {
			return err
		}
	}
	return nil
}

// states returns the states of a model's versions in the repository index, or nil if the index does not list the model.
// A model that was never loaded has one empty state.
func (a *Admin) states(ctx context.Context, model string) ([]string, error) {
	index, err := a.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
	var states []string
	for _, m := range index.GetModels() {
		if m.Name == model {
			states = append(states, m.State)
		}
	}
	return states, err
}
