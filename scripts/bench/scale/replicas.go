package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "retort/orchestrator/triton/inferencepb"
	"retort/scripts/bench/fleet"
)

func startReplicas(replicas, models int) (*fleet.Fleet, error) {
	config, err := readConfig()
	if err != nil {
		return nil, err
	}
	configs := make([]*pb.ModelConfig, models)
	for i := range configs {
		configs[i] = proto.Clone(config).(*pb.ModelConfig)
		configs[i].Name = modelName(i)
		configs[i].Parameters["model_id"] = &pb.ModelParameter{StringValue: modelID(i)}
	}
	output := config.Output[0]
	vectors := encodeVectors(*texts, int(output.Dims[0]))
	return fleet.Start(replicas, configs, func() fleet.Inferrer {
		return (&device{output: output.Name, width: output.Dims[0], vectors: vectors}).infer
	})
}

// readConfig returns the configuration of -entry, with batches of one request.
func readConfig() (*pb.ModelConfig, error) {
	text, err := os.ReadFile(filepath.Join(*entry, "config.pbtxt"))
	if err != nil {
		return nil, err
	}
	config := &pb.ModelConfig{}
	if err := prototext.Unmarshal(text, config); err != nil {
		return nil, err
	}
	config.MaxBatchSize = int32(*texts)
	return config, nil
}

func modelName(i int) string { return fmt.Sprintf("model_%02d", i) }

// modelID returns the name of a model in requests.
func modelID(i int) string { return "bench/" + modelName(i) }

// device computes the batches of one replica, one after another.
type device struct {
	output  string
	width   int64
	vectors []byte // of the largest batch

	mu   sync.Mutex
	free time.Time // when the batches that have come are computed
}

// infer answers with the same vectors whatever the rows are.
func (d *device) infer(_ context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	d.mu.Lock()
	if now := time.Now(); d.free.Before(now) {
		d.free = now
	}
	d.free = d.free.Add(*batchTime)
	end := d.free
	d.mu.Unlock()
	time.Sleep(time.Until(end))
	rows := r.Inputs[0].Shape[0]
	return &pb.ModelInferResponse{
		ModelName:    r.ModelName,
		ModelVersion: "1",
		Id:           r.Id,
		Outputs: []*pb.ModelInferResponse_InferOutputTensor{{
			Name: d.output, Datatype: "FP32", Shape: []int64{rows, d.width},
		}},
		RawOutputContents: [][]byte{d.vectors[:4*rows*d.width]},
	}, nil
}

// encodeVectors returns vectors of about length 1 in the form of a tensor.
func encodeVectors(rows, width int) []byte {
	var raw []byte
	for i := range rows * width {
		x := float32(math.Sin(float64(i)) * math.Sqrt2 / math.Sqrt(float64(width)))
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return raw
}
