package latent

import (
	"context"
	"fmt"
	"strconv"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// OracleAPI is what the parameter retort_api says of an oracle.
const OracleAPI = "oracle"

// Tensors of an oracle: fingerprint FP32 [B, 2048], each bit as 0 or 1, of the
// Morgan fingerprint of radius 2 without chirality, and score FP32 [B, 1].
const (
	inputFingerprint  = "fingerprint"
	outputOracleScore = "score"
)

// Oracle is a model of the operator's that scores molecules. Its public id is
// a property_name.
type Oracle struct {
	name    string
	unit    float64 // see property
	client  *triton.Client
	model   string
	batcher *triton.Batcher[chem.Fingerprint, float64]
}

// OracleOpener opens oracles. The parameter unit of the entry is a step of the
// score worth taking; default 0.1.
func OracleOpener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (*Oracle, error) {
	return func(entry *triton.Model) (*Oracle, error) {
		o := &Oracle{name: entry.PublicID(), client: client, model: entry.Name}
		bits := int64(64 * len(chem.Fingerprint{}))
		if in, ok := entry.Config.Input(inputFingerprint); !ok || in.Datatype != triton.FP32 || len(in.Shape) != 1 || in.Shape[0] != bits {
			return nil, fmt.Errorf("an oracle has the input %s FP32 [%d]", inputFingerprint, bits)
		}
		if width, err := entry.OutputSize(outputOracleScore); err != nil || width != 1 {
			return nil, fmt.Errorf("an oracle has the output %s FP32 [1]", outputOracleScore)
		}
		var err error
		if o.unit, err = strconv.ParseFloat(entry.Parameter("unit", "0.1"), 64); err != nil || !(o.unit > 0) {
			return nil, fmt.Errorf("parameter unit is no positive number: %q", entry.Parameter("unit", ""))
		}
		for _, p := range properties {
			if p.name == o.name {
				return nil, fmt.Errorf("the name %s is that of a built-in property", o.name)
			}
		}
		batching.MaxRows = max(1, entry.Config.MaxBatch)
		batching.MaxTokens = batching.MaxRows
		batching.MaxWaiting = 1 << 20 // as for the decoder
		o.batcher = triton.NewBatcher(func(chem.Fingerprint) int { return 1 }, o.infer, batching)
		return o, nil
	}
}

// infer is one call.
func (o *Oracle) infer(ctx context.Context, prints []chem.Fingerprint) ([]float64, error) {
	bits := 64 * len(chem.Fingerprint{})
	values := make([]float32, len(prints)*bits)
	for i := range prints {
		for b := range bits {
			if prints[i].Has(b) {
				values[i*bits+b] = 1
			}
		}
	}
	response, err := o.client.Infer(ctx, &triton.Request{Model: o.model, Outputs: []string{outputOracleScore}, Inputs: []triton.Tensor{
		triton.Float32s(inputFingerprint, []int64{int64(len(prints)), int64(bits)}, values)}})
	if err != nil {
		return nil, err
	}
	output, err := response.Output(outputOracleScore)
	if err != nil {
		return nil, err
	}
	scores, err := output.Float32s()
	if err != nil || len(scores) != len(prints) {
		return nil, fault.Wrap(fault.Internal, err, "oracle %s answered %d scores for %d molecules", o.model, len(scores), len(prints))
	}
	out := make([]float64, len(scores))
	for i, score := range scores {
		out[i] = float64(score)
	}
	return out, nil
}
