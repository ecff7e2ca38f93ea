package nimgrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/teigrpc"
	pb "retort/orchestrator/triton/inferencepb"
)

// served is an API with the model NVIDIA/Embed-1.5. It answers a request that names it with answer, and keeps its body.
func served(api string, answer teigrpc.Answer, body *map[string]any) *Service {
	return New(Options{
		API:     api,
		Version: "1",
		Ready:   func() error { return nil },
		Models:  func() []string { return []string{"NVIDIA/Embed-1.5"} },
		Call: func(_ context.Context, c teigrpc.Call) teigrpc.Answer {
			if err := json.Unmarshal(c.Body, body); err != nil {
				panic(err)
			}
			return answer
		},
	})
}

const name = "nvidia_embed_1_5"

func text(name string, elements ...string) *pb.ModelInferRequest_InferInputTensor {
	t := &pb.ModelInferRequest_InferInputTensor{
		Name: name, Datatype: "BYTES", Shape: []int64{int64(len(elements)), 1}, Contents: &pb.InferTensorContents{},
	}
	for _, element := range elements {
		t.Contents.BytesContents = append(t.Contents.BytesContents, []byte(element))
	}
	return t
}

func parameter(value string) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: value}}
}

func TestEmbeddings(t *testing.T) {
	var body map[string]any
	answer := teigrpc.Answer{
		Status:    200,
		Body:      []byte(`{"data": [{"embedding": "AACAPwAAAEA="}, {"embedding": "AABAQAAAgEA="}]}`),
		RowTokens: []int{5, 7},
	}
	s := served("embedding", answer, &body)
	request := &pb.ModelInferRequest{
		ModelName:        name,
		Id:               "seven",
		Inputs:           []*pb.ModelInferRequest_InferInputTensor{{Name: "text", Datatype: "BYTES", Shape: []int64{2, 1}}},
		RawInputContents: [][]byte{[]byte("\x01\x00\x00\x00a\x02\x00\x00\x00bc")},
		Parameters: map[string]*pb.InferParameter{
			"input_type": parameter("QUERY"),
			"truncate":   parameter("end"),
			"dimensions": {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 2}},
		},
	}
	got, err := s.ModelInfer(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want := `map[dimensions:2 encoding_format:base64 input:[a bc] input_type:query model:NVIDIA/Embed-1.5 truncate:END]`
	if fmt.Sprint(body) != want {
		t.Errorf("body %v", body)
	}
	if got.Id != "seven" || len(got.Outputs) != 2 || fmt.Sprint(got.Outputs[1].Shape) != "[2 2]" {
		t.Errorf("got %v", got)
	}
	raw := fmt.Sprintf("%x", got.RawOutputContents)
	if raw != "[0500000007000000 0000803f000000400000404000008040]" {
		t.Errorf("raw outputs %s", raw)
	}
}

func TestRankings(t *testing.T) {
	var body map[string]any
	answer := teigrpc.Answer{
		Status:    200,
		Body:      []byte(`{"rankings": [{"index": 1, "logit": 2}, {"index": 0, "logit": 1}]}`),
		RowTokens: []int{5, 7},
	}
	s := served("ranking", answer, &body)
	got, err := s.ModelInfer(t.Context(), &pb.ModelInferRequest{
		ModelName: name,
		Inputs:    []*pb.ModelInferRequest_InferInputTensor{text("query", "q"), text("passage", "a", "b")},
		Outputs:   []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "token_count"}, {Name: "index"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(body) != `map[model:NVIDIA/Embed-1.5 passages:[map[text:a] map[text:b]] query:map[text:q]]` {
		t.Errorf("body %v", body)
	}
	if raw := fmt.Sprintf("%x", got.RawOutputContents); raw != "[0700000005000000 0100000000000000]" {
		t.Errorf("raw outputs %s", raw)
	}
}

func TestRefusals(t *testing.T) {
	type inputs = []*pb.ModelInferRequest_InferInputTensor
	one := inputs{text("text", "a")}
	wide := text("text", "a", "b")
	wide.Shape = []int64{1, 2}
	number := text("text", "a")
	number.Datatype = "INT64"
	for _, test := range []struct {
		problem string
		request *pb.ModelInferRequest
		code    codes.Code
		message string
	}{
		{"model", &pb.ModelInferRequest{ModelName: "other", Inputs: one}, codes.NotFound, name},
		{"version", &pb.ModelInferRequest{ModelVersion: "2", Inputs: one}, codes.NotFound, `"2"`},
		{"no input", &pb.ModelInferRequest{}, codes.InvalidArgument, `"text" is missing`},
		{"unknown input", &pb.ModelInferRequest{Inputs: inputs{text("texts", "a")}}, codes.InvalidArgument, `"texts"`},
		{"twice", &pb.ModelInferRequest{Inputs: append(one, one...)}, codes.InvalidArgument, "twice"},
		{"shape", &pb.ModelInferRequest{Inputs: inputs{wide}}, codes.InvalidArgument, "[2, 1]"},
		{"type", &pb.ModelInferRequest{Inputs: inputs{number}}, codes.InvalidArgument, "INT64"},
		{"UTF-8", &pb.ModelInferRequest{Inputs: inputs{text("text", "a", "\xff")}}, codes.InvalidArgument, "element 1"},
		{"modality", &pb.ModelInferRequest{
			Inputs: inputs{text("text", "a", "b"), text("modality", "text")},
		}, codes.InvalidArgument, "modality"},
		{"raw length", &pb.ModelInferRequest{
			Inputs:           inputs{{Name: "text", Datatype: "BYTES", Shape: []int64{1, 1}}},
			RawInputContents: [][]byte{[]byte("\xff\xff\xff\xff")},
		}, codes.InvalidArgument, "raw_input_contents"},
		{"too many raw", &pb.ModelInferRequest{
			Inputs: one, RawInputContents: [][]byte{nil},
		}, codes.InvalidArgument, "more elements"},
		{"parameter", &pb.ModelInferRequest{
			Inputs: one, Parameters: map[string]*pb.InferParameter{"input": parameter("query")},
		}, codes.InvalidArgument, `"input" is unknown`},
		{"type of a parameter", &pb.ModelInferRequest{
			Inputs: one, Parameters: map[string]*pb.InferParameter{"dimensions": parameter("2")},
		}, codes.InvalidArgument, "integer"},
		{"empty parameter", &pb.ModelInferRequest{
			Inputs: one, Parameters: map[string]*pb.InferParameter{"truncate": nil},
		}, codes.InvalidArgument, "truncate"},
		{"chunks", &pb.ModelInferRequest{
			Inputs: one, Parameters: map[string]*pb.InferParameter{"truncate": parameter("CHUNK")},
		}, codes.InvalidArgument, "CHUNK"},
		{"output", &pb.ModelInferRequest{
			Inputs: one, Outputs: []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "vectors"}},
		}, codes.InvalidArgument, `"vectors"`},
	} {
		if test.request.ModelName == "" {
			test.request.ModelName = name
		}
		var body map[string]any
		answer := teigrpc.Answer{Status: 200, Body: []byte(`{"data": [{"embedding": "AACAPw=="}]}`), RowTokens: []int{3}}
		s := served("embedding", answer, &body)
		_, err := s.ModelInfer(t.Context(), test.request)
		if status.Code(err) != test.code || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: got %v, want %s with %q", test.problem, err, test.code, test.message)
		}
	}
}

func TestFailuresOfTheGateway(t *testing.T) {
	for _, test := range []struct {
		status  int
		body    string
		code    codes.Code
		message string
	}{
		{
			400, `{"message": "always", "detail": {"loc": ["body", "input", 3], "msg": "is empty"}}`,
			codes.InvalidArgument, "text[3]: is empty",
		},
		{400, `{"error": "passages.0.text: is empty", "detail": [{}]}`, codes.InvalidArgument, "passages.0.text: is empty"},
		{400, `{"error": {"message": "no"}}`, codes.InvalidArgument, "no"},
		{413, ``, codes.ResourceExhausted, "Request Entity Too Large"},
		{503, `{"error": "busy"}`, codes.Unavailable, "busy"},
		{504, `{"error": "late"}`, codes.DeadlineExceeded, "late"},
		{500, `{"error": "broken"}`, codes.Internal, "broken"},
		{200, `{"data": []}`, codes.Internal, "could not be read"},
	} {
		var body map[string]any
		s := served("embedding", teigrpc.Answer{Status: test.status, Body: []byte(test.body), RowTokens: []int{3}}, &body)
		_, err := s.ModelInfer(t.Context(), &pb.ModelInferRequest{
			ModelName: name, Inputs: []*pb.ModelInferRequest_InferInputTensor{text("text", "a")},
		})
		if status.Code(err) != test.code || !strings.Contains(err.Error(), test.message) {
			t.Errorf("status %d: got %v, want %s with %q", test.status, err, test.code, test.message)
		}
	}
}

func TestModels(t *testing.T) {
	s := served("embedding", teigrpc.Answer{}, nil)
	for model, ready := range map[string]bool{name: true, "other": false} {
		got, err := s.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: model})
		if err != nil || got.Ready != ready {
			t.Errorf("ModelReady of %s: %v, %v", model, got, err)
		}
	}
	described, err := s.ModelMetadata(t.Context(), &pb.ModelMetadataRequest{Name: name})
	if err != nil || described.Inputs[0].Name != "text" || described.Outputs[1].Name != "embeddings" {
		t.Errorf("ModelMetadata: %v, %v", described, err)
	}
	s.options.Ready = func() error { return errors.New("no model") }
	if got, err := s.ServerReady(t.Context(), nil); err != nil || got.Ready {
		t.Errorf("ServerReady: %v, %v", got, err)
	}
}

// FuzzInputs reads any raw tensors.
func FuzzInputs(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00a"), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, n int64) {
		text := &pb.ModelInferRequest_InferInputTensor{Name: "text", Datatype: "BYTES", Shape: []int64{n, 1}}
		inputs, err := readInputs(&pb.ModelInferRequest{
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{text},
			RawInputContents: [][]byte{raw},
		})
		if err == nil && int64(len(inputs["text"])) != n {
			t.Errorf("%d texts, not %d", len(inputs["text"]), n)
		}
	})
}

// Characters of HTML are sent as they are, so that a body is not longer than its message allows.
func TestBodiesAreNotEscaped(t *testing.T) {
	var length int
	s := New(Options{
		API:    "embedding",
		Ready:  func() error { return nil },
		Models: func() []string { return []string{name} },
		Call: func(_ context.Context, c teigrpc.Call) teigrpc.Answer {
			length = len(c.Body)
			return teigrpc.Answer{Status: 200, Body: []byte(`{"data": [{"embedding": "AACAPw=="}]}`), RowTokens: []int{1}}
		},
	})
	inputs := []*pb.ModelInferRequest_InferInputTensor{text("text", strings.Repeat("<&>", 1000))}
	if _, err := s.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: name, Inputs: inputs}); err != nil {
		t.Fatal(err)
	}
	if length > 3200 {
		t.Errorf("3,000 bytes of text became a body of %d", length)
	}
}
