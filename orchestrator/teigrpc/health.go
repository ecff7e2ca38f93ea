package teigrpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"retort/orchestrator/teigrpc/teipb"
)

// healthEvery is how often the states of the services are updated.
const healthEvery = time.Second

// alwaysServed need no model to be ready, as in text-embeddings-inference.
var alwaysServed = []string{teipb.Info_ServiceDesc.ServiceName, teipb.Tokenize_ServiceDesc.ServiceName}

// modelServices need a model.
var modelServices = []string{
	teipb.Embed_ServiceDesc.ServiceName, teipb.Predict_ServiceDesc.ServiceName, teipb.Rerank_ServiceDesc.ServiceName,
}

// updateHealth sets the states of all services. The state of the server, "", is that of its API.
func (s *Server) updateHealth() {
	ready := healthpb.HealthCheckResponse_SERVING
	if s.options.Ready() != nil {
		ready = healthpb.HealthCheckResponse_NOT_SERVING
	}
	s.health.SetServingStatus("", ready)
	for _, name := range alwaysServed {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	for _, name := range modelServices {
		state := healthpb.HealthCheckResponse_NOT_SERVING
		if s.options.Serves[name] {
			state = ready
		}
		s.health.SetServingStatus(name, state)
	}
}

func (s *Server) watchHealth(ended <-chan struct{}) {
	ticker := time.NewTicker(healthEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.updateHealth()
		case <-ended:
			return
		}
	}
}

// healthServer is the health service of the library, whose streams end when the process leaves.
type healthServer struct{ *Server }

func (h *healthServer) Check(
	ctx context.Context, in *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	h.updateHealth()
	return h.health.Check(ctx, in)
}

func (h *healthServer) List(
	ctx context.Context, in *healthpb.HealthListRequest,
) (*healthpb.HealthListResponse, error) {
	h.updateHealth()
	return h.health.List(ctx, in)
}

func (h *healthServer) Watch(
	in *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse],
) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(h.leaving, cancel)()
	return h.health.Watch(in, &watch{stream, ctx})
}

// watch is a stream of health checks with another context.
type watch struct {
	grpc.ServerStreamingServer[healthpb.HealthCheckResponse]
	ctx context.Context
}

func (w *watch) Context() context.Context { return w.ctx }
