package latent

import (
	"context"
	"fmt"

	"retort/chem"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/triton"
)

// OracleAPI is what the parameter retort_api says of an oracle.
const OracleAPI = "oracle"

// fingerprintBits is the size of the fingerprints that oracles see: Morgan, radius 2, without chirality.
const fingerprintBits = 64 * len(chem.Fingerprint{})

// Oracle is a model of the operator's that scores molecules: from tensorFingerprint to tensorScore. Its public id is a
// property name.
type Oracle struct {
	name    string
	unit    float64 // a difference of scores that is a step worth taking: see search.Property
	client  *triton.Client
	model   string
	batcher *triton.Batcher[chem.Fingerprint, float64]
}

// OracleOpener opens oracles. The parameter unit of the entry is a difference of scores that is a step worth taking;
// default 0.1.
func OracleOpener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (*Oracle, error) {
	return func(entry *triton.Model) (*Oracle, error) {
		r := entry.Read()
		o := &Oracle{name: r.PublicID(), client: client, model: r.Name, unit: r.Number("unit", 0.1, minUnit, maxUnit)}
		for _, p := range search.Properties {
			if p.Name == o.name {
				r.Check(fmt.Errorf("the name %s is that of a built-in property", o.name))
			}
		}
		r.Check(oracleTensors(entry))
		if err := r.Done(); err != nil {
			return nil, err
		}
		batching.MaxRows = max(1, entry.Config.MaxBatch)
		batching.MaxTokens = batching.MaxRows
		o.batcher = triton.NewBatcher(func(chem.Fingerprint) int { return 1 }, o.infer, batching)
		return o, nil
	}
}

// The range of the parameter unit.
const (
	minUnit = 1e-9
	maxUnit = 1e9
)

// oracleTensors checks what an entry takes and gives.
func oracleTensors(entry *triton.Model) error {
	in, ok := entry.Config.Input(tensorFingerprint)
	if !ok || in.Datatype != triton.FP32 || len(in.Shape) != 1 || in.Shape[0] != int64(fingerprintBits) {
		return fmt.Errorf("an oracle has the input %s FP32 [%d]", tensorFingerprint, fingerprintBits)
	}
	if width, err := entry.OutputSize(tensorScore); err != nil || width != 1 {
		return fmt.Errorf("an oracle has the output %s FP32 [1]", tensorScore)
	}
	return nil
}

// property is the oracle as a search sees it.
func (o *Oracle) property() search.Property {
	return search.Property{
		Name: o.name, Unit: o.unit, Facts: chem.FactFingerprint,
		Values: func(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
			fingerprints := make([]chem.Fingerprint, len(molecules))
			for i, m := range molecules {
				fingerprints[i] = m.Fingerprint()
			}
			return search.Wait(ctx, func() ([]float64, error) { return o.batcher.Do(ctx, fingerprints) })
		},
	}
}

// infer is one inference.
func (o *Oracle) infer(ctx context.Context, fingerprints []chem.Fingerprint) ([]float64, error) {
	values := make([]float32, len(fingerprints)*fingerprintBits)
	for i := range fingerprints {
		for b := range fingerprintBits {
			if fingerprints[i].Has(b) {
				values[i*fingerprintBits+b] = 1
			}
		}
	}
	response, err := o.client.Infer(ctx, &triton.Request{
		Model: o.model, Outputs: []string{tensorScore},
		Inputs: []triton.Tensor{triton.Float32s(tensorFingerprint, []int64{int64(len(fingerprints)), int64(fingerprintBits)}, values)},
	})
	if err != nil {
		return nil, err
	}
	rows, err := response.FloatRows(tensorScore, len(fingerprints), 1)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(rows))
	for i, row := range rows {
		scores[i] = float64(row[0])
	}
	return scores, nil
}
