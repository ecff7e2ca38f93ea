package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"retort/orchestrator/provenance"
	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
	"retort/orchestrator/triton/tritontest"
)

// retort replay accepts the paths of all endpoints that answer an object, at the APIs' own paths and on the main port.
func TestPathsOfManifests(t *testing.T) {
	var out console
	a := assemble(t, tritontest.Start(t, entry(t, "minilm_embed")), &out)
	const answersList = " / /embed /similarity /predict /embed_all /embed_sparse "
	count := 0
	for i, s := range services {
		var paths []string
		for _, path := range a.gateways[i].Posts() {
			paths = append(paths, "/"+s.name+path)
		}
		if s.byModel {
			for _, path := range openAIPaths(a.gateways[i]) {
				if strings.HasPrefix(path, openAIBase+"/") {
					paths = append(paths, path)
				}
			}
		}
		for _, path := range paths {
			if strings.Contains(answersList, " "+strings.TrimPrefix(path, "/"+s.name)+" ") {
				continue
			}
			count++
			manifest, err := json.Marshal(provenance.Manifest{
				Format: provenance.Format, Path: strings.ReplaceAll(path, "+", "nvidia/model"), Request: []byte("{}"),
				AnswerSHA256: strings.Repeat("0", 64),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range provenance.ReadDocuments(strings.NewReader(string(manifest))) {
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d paths", count)
	}
}

// hangingTriton is live but never says its version.
type hangingTriton struct {
	pb.UnimplementedGRPCInferenceServiceServer
}

func (hangingTriton) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (hangingTriton) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: true}, nil
}

func (hangingTriton) ServerMetadata(
	ctx context.Context, _ *pb.ServerMetadataRequest,
) (*pb.ServerMetadataResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// An answer does not wait for a Triton that hangs: its manifest has no version of Triton.
func TestManifestWithoutTriton(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(server, hangingTriton{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	var out console
	a := assemble(t, tritontest.Start(t, entry(t, "minilm_embed")), &out)
	client := a.client
	t.Cleanup(func() { a.client = client })
	a.client = tritontest.Dial(t, triton.Config{URLs: []string{listener.Addr().String()}})
	tritontest.Eventually(t, "the server is live", func() bool { return len(a.client.Live()) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // as a request
	defer cancel()
	_, software := a.identify(ctx, nil)
	if _, ok := software["triton"]; ok || software["retort"] != version || ctx.Err() != nil {
		t.Errorf("%v, %v", software, ctx.Err())
	}
}
