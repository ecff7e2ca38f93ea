package nimgrpc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/teigrpc"
	pb "retort/orchestrator/triton/inferencepb"
)

type (
	tensorInfo = pb.ModelMetadataResponse_TensorMetadata
	object     = map[string]any
)

// contract is the interface of an API.
type contract struct {
	path       string // of the HTTP endpoint
	inputs     []*tensorInfo
	outputs    []*tensorInfo     // the types of those whose type depends on a parameter are the default
	parameters map[string]string // name to type: "string" or "integer"
	// body returns the body of the HTTP request without model and parameters.
	body func(inputs map[string][]string) (object, error)
	// tensors returns the outputs.
	tensors func(answer teigrpc.Answer, parameters object) ([]tensor, error)
}

// contracts are those of the APIs.
var contracts = map[string]contract{
	"embedding": {
		path:   "/v1/embeddings",
		inputs: []*tensorInfo{column("text", "BYTES"), column("modality", "BYTES")},
		outputs: []*tensorInfo{
			row("token_count", "INT32"), {Name: "embeddings", Datatype: "FP32", Shape: []int64{-1, -1}},
		},
		parameters: map[string]string{
			"input_type": "string", "truncate": "string", "dimensions": "integer", "embedding_type": "string",
		},
		body:    embeddingBody,
		tensors: embeddingTensors,
	},
	"ranking": {
		path:       "/v1/ranking",
		inputs:     []*tensorInfo{column("query", "BYTES"), column("passage", "BYTES")},
		outputs:    []*tensorInfo{row("index", "INT32"), row("logit", "FP32"), row("token_count", "INT32")},
		parameters: map[string]string{"truncate": "string"},
		body:       rankingBody,
		tensors:    rankingTensors,
	},
}

func column(name, datatype string) *tensorInfo {
	return &tensorInfo{Name: name, Datatype: datatype, Shape: []int64{-1, 1}}
}

func row(name, datatype string) *tensorInfo {
	return &tensorInfo{Name: name, Datatype: datatype, Shape: []int64{-1}}
}

func (c contract) hasInput(name string) bool {
	return slices.ContainsFunc(c.inputs, func(t *tensorInfo) bool { return t.Name == name })
}

// ignored are parameters of Triton's clients and of the hosted service that have no effect here.
var ignored = []string{"nvcf_asset_dir", "priority", "timeout", "binary_data_output"}

// readParameters returns the parameters of a request, texts of truncate and the like in the case of the HTTP API.
func (c contract) readParameters(given map[string]*pb.InferParameter) (object, error) {
	read := object{}
	for name, parameter := range given {
		kind, ok := c.parameters[name]
		if !ok {
			if slices.Contains(ignored, name) {
				continue
			}
			return nil, status.Errorf(codes.InvalidArgument, "parameter %q is unknown", name)
		}
		var value any
		switch p := parameter.GetParameterChoice().(type) {
		case *pb.InferParameter_StringParam:
			value = strings.ToLower(p.StringParam)
			if name == "truncate" {
				value = strings.ToUpper(p.StringParam)
			}
		case *pb.InferParameter_Int64Param:
			value = p.Int64Param
		}
		if _, isText := value.(string); value == nil || isText != (kind == "string") {
			return nil, status.Errorf(codes.InvalidArgument, "parameter %q must be of type %s", name, kind)
		}
		read[name] = value
	}
	if read["truncate"] == "CHUNK" {
		return nil, status.Error(codes.InvalidArgument, "parameter \"truncate\": CHUNK is for HTTP only")
	}
	return read, nil
}

func embeddingBody(inputs map[string][]string) (object, error) {
	texts := inputs["text"]
	if len(texts) == 0 {
		return nil, status.Error(codes.InvalidArgument, "input \"text\" is missing or empty")
	}
	body := object{"input": texts, "encoding_format": "base64"}
	if modality, ok := inputs["modality"]; ok {
		if len(modality) != len(texts) {
			return nil, status.Errorf(codes.InvalidArgument, "input \"modality\" has %d elements for %d of \"text\"",
				len(modality), len(texts))
		}
		body["modality"] = modality
	}
	return body, nil
}

func embeddingTensors(answer teigrpc.Answer, parameters object) ([]tensor, error) {
	var read struct {
		Data []struct {
			Embedding []byte `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer.Body, &read); err != nil {
		return nil, err
	}
	if len(answer.RowTokens) != len(read.Data) {
		return nil, errors.New("another number of texts")
	}
	datatype, size := "FP32", 4
	switch parameters["embedding_type"] {
	case "int8", "binary":
		datatype, size = "INT8", 1
	case "uint8", "ubinary":
		datatype, size = "UINT8", 1
	}
	var raw []byte
	for _, datum := range read.Data {
		raw = append(raw, datum.Embedding...)
	}
	count := int64(len(read.Data))
	width := int64(len(raw)/size) / max(1, count)
	return []tensor{
		{"token_count", "INT32", []int64{count}, int32s(answer.RowTokens)},
		{"embeddings", datatype, []int64{count, width}, raw},
	}, nil
}

func rankingBody(inputs map[string][]string) (object, error) {
	queries, passages := inputs["query"], inputs["passage"]
	if len(queries) == 0 || len(passages) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the inputs \"query\" and \"passage\" must not be missing or empty")
	}
	for i, query := range queries {
		if query != queries[0] {
			return nil, status.Errorf(codes.InvalidArgument, "input \"query\": element %d differs from the first", i)
		}
	}
	list := make([]object, len(passages))
	for i, passage := range passages {
		list[i] = object{"text": passage}
	}
	return object{"query": object{"text": queries[0]}, "passages": list}, nil
}

func rankingTensors(answer teigrpc.Answer, _ object) ([]tensor, error) {
	var read struct {
		Rankings []struct {
			Index int     `json:"index"`
			Logit float32 `json:"logit"`
		} `json:"rankings"`
	}
	if err := json.Unmarshal(answer.Body, &read); err != nil {
		return nil, err
	}
	if len(answer.RowTokens) != len(read.Rankings) {
		return nil, errors.New("another number of passages")
	}
	var indices, tokens []int
	var logits []byte
	for _, rank := range read.Rankings {
		if rank.Index < 0 || rank.Index >= len(answer.RowTokens) {
			return nil, fmt.Errorf("index %d", rank.Index)
		}
		indices = append(indices, rank.Index)
		tokens = append(tokens, answer.RowTokens[rank.Index])
		logits = binary.LittleEndian.AppendUint32(logits, math.Float32bits(rank.Logit))
	}
	shape := []int64{int64(len(indices))}
	return []tensor{
		{"index", "INT32", shape, int32s(indices)},
		{"logit", "FP32", shape, logits},
		{"token_count", "INT32", shape, int32s(tokens)},
	}, nil
}

// location returns the input that an HTTP location names, with ": ", or "".
func location(loc []any) string {
	if len(loc) < 2 || loc[0] != "body" {
		return ""
	}
	name := fmt.Sprint(loc[1])
	if name == "input" {
		name = "text"
	}
	for _, index := range loc[2:] {
		name += fmt.Sprintf("[%v]", index)
	}
	return name + ": "
}
