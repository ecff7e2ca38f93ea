package nimgrpc

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	"retort/orchestrator/teigrpc"
	pb "retort/orchestrator/triton/inferencepb"
)

// Options say which API a service is for.
type Options struct {
	API     string // "embedding" or "ranking"
	Version string // of the program
	// Models lists the public ids of the models that the API can serve now.
	Models func() []string
	// Call makes a call to the gateway of the API.
	Call teigrpc.Caller
	// Ready returns nil if the API can serve.
	Ready func() error
}

// Service answers KServe's methods.
type Service struct {
	pb.UnimplementedGRPCInferenceServiceServer
	options  Options
	contract contract
}

// New returns the service of an API.
func New(options Options) *Service {
	return &Service{options: options, contract: contracts[options.API]}
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { pb.RegisterGRPCInferenceServiceServer(r, s) }

// ServerLive reports that the process runs.
func (s *Service) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

// ServerReady reports whether the API can serve.
func (s *Service) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: s.options.Ready() == nil}, nil
}

// ServerMetadata names the program.
func (s *Service) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "retort", Version: s.options.Version}, nil
}

// ModelReady reports whether a model is served.
func (s *Service) ModelReady(_ context.Context, r *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	_, err := s.find(r.Name)
	return &pb.ModelReadyResponse{Ready: err == nil && s.options.Ready() == nil}, nil
}

// ModelMetadata describes the tensors of a model.
func (s *Service) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	if _, err := s.find(r.Name); err != nil {
		return nil, err
	}
	return &pb.ModelMetadataResponse{
		Name:     r.Name,
		Versions: []string{"1"},
		Platform: "retort",
		Inputs:   s.contract.inputs,
		Outputs:  s.contract.outputs,
	}, nil
}

// ModelInfer embeds texts or ranks passages.
func (s *Service) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	id, err := s.find(r.ModelName)
	if err != nil {
		return nil, err
	}
	if r.ModelVersion != "" && r.ModelVersion != "1" {
		return nil, status.Errorf(codes.NotFound, "model %q has the version 1 only, not %q", r.ModelName, r.ModelVersion)
	}
	inputs, err := readInputs(r)
	if err != nil {
		return nil, err
	}
	for name := range inputs {
		if !s.contract.hasInput(name) {
			return nil, status.Errorf(codes.InvalidArgument, "input %q is unknown", name)
		}
	}
	parameters, err := s.contract.readParameters(r.Parameters)
	if err != nil {
		return nil, err
	}
	body, err := s.contract.body(inputs)
	if err != nil {
		return nil, err
	}
	body["model"] = id
	maps.Copy(body, parameters)
	answer, err := s.options.Call.Send(ctx, s.contract.path, body)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return nil, status.Error(codeOf(answer.Status), message(answer))
	}
	tensors, err := s.contract.tensors(answer, parameters)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "the answer could not be read")
	}
	return respond(r, tensors)
}

// find returns the public id of a model by its gRPC name.
func (s *Service) find(name string) (id string, err error) {
	var names []string
	for _, id := range s.options.Models() {
		if grpcName(id) == name {
			return id, nil
		}
		names = append(names, grpcName(id))
	}
	served := strings.Join(names, ", ")
	return "", status.Errorf(codes.NotFound, "model %q is not served, only %s", fault.Clip(name), served)
}

// grpcName returns the gRPC name of a model.
func grpcName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(id))
}

// codeOf returns the code of a failure by its HTTP status.
func codeOf(httpStatus int) codes.Code {
	switch httpStatus {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return codes.InvalidArgument
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	case http.StatusGatewayTimeout:
		return codes.DeadlineExceeded
	}
	return codes.Internal
}

// message returns the text of a failure in any form of the two APIs, with the field if the body names it apart.
func message(answer teigrpc.Answer) string {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  struct {
			Loc []any  `json:"loc"`
			Msg string `json:"msg"`
		} `json:"detail"`
	}
	_ = json.Unmarshal(answer.Body, &body) // what can be read of it
	var text string
	var openAI struct{ Message string }
	switch {
	case body.Detail.Msg != "":
		text = location(body.Detail.Loc) + body.Detail.Msg
	case json.Unmarshal(body.Error, &text) == nil && text != "":
	case json.Unmarshal(body.Error, &openAI) == nil && openAI.Message != "":
		text = openAI.Message
	case body.Message != "":
		text = body.Message
	default:
		text = http.StatusText(answer.Status)
	}
	return text
}
