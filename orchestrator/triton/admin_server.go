package triton

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "retort/orchestrator/triton/inferencepb"
)

// ServerReady reports what one replica says of itself. With Triton's strict readiness, which is its default, that is
// false while any model is being loaded or unloaded and after a failed load: for people and for start-up, not for
// routing. ModelReady is what a request needs.
func (a Admin) ServerReady(ctx context.Context) (ready bool, err error) {
	err = a.client.ask(ctx, question{name: "server_ready"}, func(ctx context.Context, r *replica) error {
		answer, err := r.service.ServerReady(ctx, &pb.ServerReadyRequest{})
		ready = answer.GetReady()
		return err
	})
	return ready, err
}

// ModelReady reports whether some version of a model, or the one given, takes requests. A model that does not exist is
// not ready, and no error.
func (a Admin) ModelReady(ctx context.Context, name, version string) (ready bool, err error) {
	err = a.client.ask(ctx, question{name: "model_ready", model: name}, func(ctx context.Context, r *replica) error {
		answer, err := r.service.ModelReady(ctx, &pb.ModelReadyRequest{Name: name, Version: version})
		if ready = answer.GetReady(); status.Code(err) == codes.NotFound {
			return nil
		}
		return err
	})
	return ready, err
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Name, Version string
	Extensions    []string
}

// ServerMetadata returns it for one replica.
func (a Admin) ServerMetadata(ctx context.Context) (info ServerInfo, err error) {
	err = a.client.ask(ctx, question{name: "server_metadata"}, func(ctx context.Context, r *replica) error {
		m, err := r.service.ServerMetadata(ctx, &pb.ServerMetadataRequest{})
		info = ServerInfo{Name: m.GetName(), Version: m.GetVersion(), Extensions: m.GetExtensions()}
		return err
	})
	return info, err
}
