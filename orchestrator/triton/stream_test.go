package triton_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
	"retort/orchestrator/triton/tritontest"
)

// A caller that reads only after its context has ended gets an error: an empty sequence would look like a complete
// answer.
func TestStreamOfEndedContextEndsWithError(t *testing.T) {
	s := tritontest.Start(t, tritontest.Model{
		Config: tritontest.Config(t, `
			name: "endless" backend: "python" model_transaction_policy { decoupled: true }
			output { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }`),
		Stream: func(ctx context.Context, _ *triton.Request, send func(*triton.Response) error) error {
			if err := send(&triton.Response{Outputs: echoRequest().Inputs}); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
	})
	recorder := recordSpans(t)
	c := s.Client()
	ctx, cancel := context.WithCancel(t.Context())
	responses, err := c.Stream(ctx, &triton.Request{Model: "endless"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	tritontest.Eventually(t, "the call ends", func() bool { return len(recorder.Ended()) == 1 })
	if status := recorder.Ended()[0].Status(); status.Description != fault.Canceled.String() {
		t.Errorf("the call ended with %v", status)
	}
	for range 2 {
		var last error
		n := 0
		for r, err := range responses {
			if n++; r != nil {
				t.Error("a response after the context ended")
			}
			last = err
		}
		if n != 1 || fault.KindOf(last) != fault.Canceled {
			t.Errorf("%d elements, the last with error %v, want one with Canceled", n, last)
		}
	}
}

// truncating is a server that closes streams without an error and without a final response.
type truncating struct {
	pb.UnimplementedGRPCInferenceServiceServer
	responses int
}

func (s truncating) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (s truncating) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	m, err := stream.Recv()
	if err != nil {
		return err
	}
	response, err := tritontest.Message(&triton.Response{Model: m.ModelName, Outputs: echoRequest().Inputs})
	if err != nil {
		return err
	}
	for range s.responses {
		if err := stream.Send(&pb.ModelStreamInferResponse{InferResponse: response}); err != nil {
			return err
		}
	}
	return nil
}

// A stream that the server closes before its final response is incomplete.
func TestStreamWithoutFinalResponseEndsWithError(t *testing.T) {
	for n := range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		pb.RegisterGRPCInferenceServiceServer(server, truncating{responses: n})
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		c := tritontest.Dial(t, triton.Config{URLs: []string{listener.Addr().String()}})
		responses, err := c.Stream(t.Context(), &triton.Request{Model: "m"})
		read := 0
		if err == nil {
			for _, err = range responses {
				if err == nil {
					read++
				}
			}
		}
		if read != n || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%d of %d responses, then %v, want Unavailable", read, n, err)
		}
	}
}
