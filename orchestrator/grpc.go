package main

import (
	"context"
	"net/http"

	"retort/orchestrator/gateway"
	"retort/orchestrator/nimgrpc"
	"retort/orchestrator/teigrpc"
	"retort/orchestrator/teigrpc/teipb"
)

// grpcSuffix ends the names of the listeners of gRPC.
const grpcSuffix = "-grpc"

// grpcService is the gRPC port of an API: text-embeddings-inference's services and NVIDIA's.
type grpcService struct {
	api    string
	port   func(*Config) int
	serves map[string]bool // services of tei.v1 that need a model
}

var grpcServices = []grpcService{
	{
		api:    "embedding",
		port:   func(c *Config) int { return c.Embedding.Room.GRPCPort },
		serves: map[string]bool{teipb.Embed_ServiceDesc.ServiceName: true},
	},
	{
		api:  "ranking",
		port: func(c *Config) int { return c.Ranking.Room.GRPCPort },
		serves: map[string]bool{
			teipb.Rerank_ServiceDesc.ServiceName:  true,
			teipb.Predict_ServiceDesc.ServiceName: true,
		},
	},
}

// listenGRPC opens the ports of gRPC that the settings name.
func (s *server) listenGRPC() error {
	for _, service := range grpcServices {
		port := service.port(s.config)
		if port == 0 {
			continue
		}
		if err := s.open(service.api+grpcSuffix, port, s.newGRPC(service)); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) newGRPC(service grpcService) *teigrpc.Server {
	g, _ := s.gateway(service.api)
	limits := g.Config()
	call := func(ctx context.Context, c teigrpc.Call) teigrpc.Answer { return callGRPC(ctx, g, c) }
	options := teigrpc.Options{
		Serves:         service.serves,
		Call:           call,
		CountRefusal:   func() { s.metrics.CountRefusal(service.api) },
		Ready:          g.Ready,
		Concurrency:    limits.Concurrency,
		MaxConnections: s.config.MaxConnections,
		ConnectionAge:  s.config.ConnectionAge,
		BodyLimit:      limits.BodyLimit,
		Timeout:        limits.Timeout,
		Memory:         s.memory,
		TLS:            s.tls,
	}
	options.Register = nimgrpc.New(nimgrpc.Options{
		API:     service.api,
		Version: version,
		Models:  g.API().Models,
		Call:    call,
		Ready:   g.Ready,
	}).Register
	if s.keys != nil {
		options.Authorize = func(authorization string) error {
			if f := s.keys.CheckHeader(authorization); f != nil {
				return f
			}
			return nil
		}
	}
	return teigrpc.New(options)
}

// callGRPC makes the call of a gRPC message.
func callGRPC(ctx context.Context, g *gateway.Gateway, c teigrpc.Call) teigrpc.Answer {
	call := gateway.Call{Path: c.Path, Body: c.Body, ID: c.ID}
	if c.Body == nil {
		call.Method = http.MethodGet
	}
	result := g.Call(ctx, call)
	return teigrpc.Answer{
		Status:    result.Status,
		Body:      result.Body,
		Tokens:    result.Work.Tokens(),
		RowTokens: result.Work.RowTokens(),
		Queued:    result.Work.Queued(),
		Triton:    result.Work.Triton(),
	}
}
