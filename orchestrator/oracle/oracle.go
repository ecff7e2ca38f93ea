// Package oracle implements [objective.Oracle] with models in Triton: models of the operator, with any backend, that
// score molecules. The config.pbtxt of a model has the parameter retort_api "oracle". Its public id is the name of a
// term.
//
// The input is smiles BYTES, canonical SMILES in UTF-8, or fingerprint FP32 [2048], the bits of the Morgan fingerprint
// with radius 2 and without chirality as 0 or 1. Every FP32 output with one number per molecule is an output of the
// oracle. The first is score if there is one with this name. docs/use/ORACLES.md shows how to make an oracle.
package oracle

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

// API is the value of the parameter retort_api of an oracle.
const API = "oracle"

// The tensors of an oracle: see the package comment.
const (
	tensorSMILES      = "smiles"      // BYTES [rows] or [rows, 1]
	tensorFingerprint = "fingerprint" // FP32 [rows, 2048]: each bit as 0 or 1
	tensorScore       = "score"       // FP32 [rows] or [rows, 1], like every other output
)

// fingerprintBits is the length of a fingerprint.
const fingerprintBits = 64 * len(chem.Fingerprint{})

// unbatchedRows is the upper bound of the molecules of one call if the model has no max_batch_size.
const unbatchedRows = 256

// tritonOracle is an [objective.Oracle] served by Triton.
type tritonOracle struct {
	name    string
	unit    float64
	outputs []string
	smiles  bool // the input is SMILES, else fingerprints
	batched bool // the tensors have a separate batch dimension
	timeout time.Duration
	count   Count

	client  *triton.Client
	model   string
	batcher *batching.Batcher[*chem.Molecule, []float64]
}

// Count records the molecules of a call to an oracle that have the same outcome: "scored", "none" (the first output is
// NaN or infinite) or "failed" (the call failed). It must be safe for concurrent use.
type Count func(oracle, outcome string, molecules int)

// The default and the range of the parameter unit.
const (
	defaultUnit = 0.1
	minUnit     = 1e-9
	maxUnit     = 1e9
)

// Opener returns a function that opens oracles. The parameter unit of the model is the unit of its scores, by default
// 0.1.
func Opener(
	client *triton.Client, config Config, defaults batching.Options, count Count,
) func(*triton.Model) (objective.Oracle, error) {
	return func(entry *triton.Model) (objective.Oracle, error) {
		r := entry.Read()
		o := &tritonOracle{
			name:    r.PublicID(),
			client:  client,
			model:   r.Name,
			unit:    r.Number("unit", defaultUnit, minUnit, maxUnit),
			batched: entry.Config.MaxBatch > 0,
			timeout: config.Timeout,
			count:   count,
		}
		if o.name == objective.Told || slices.Contains(objective.Names(), o.name) {
			r.Check(fmt.Errorf("the name %s belongs to a built-in term", o.name))
		}
		r.Check(o.tensors(entry.Config))
		if err := r.Done(); err != nil {
			return nil, err
		}
		options := defaults // a copy, because oracles may be opened concurrently
		options.MaxRows = unbatchedRows
		if o.batched {
			options.MaxRows = entry.Config.MaxBatch
		}
		options.MaxTokens = options.MaxRows
		options.Replicas = func() int { return client.Replicas(r.Name) }
		o.batcher = batching.New(func(*chem.Molecule) int { return 1 }, o.inferAndCount, options)
		return o, nil
	}
}

// tensors validates the inputs of a model and lists its outputs.
func (o *tritonOracle) tensors(config *triton.ModelConfig) error {
	text, hasSMILES := config.Input(tensorSMILES)
	bits, hasFingerprint := config.Input(tensorFingerprint)
	isFingerprint := hasFingerprint && bits.Datatype == triton.FP32 &&
		slices.Equal(bits.Shape, []int64{int64(fingerprintBits)})
	o.smiles = hasSMILES
	switch {
	case hasSMILES && (text.Datatype != triton.BYTES || !single(text.Shape)):
		return fmt.Errorf("the input %s of an oracle is BYTES [1] or [-1]", tensorSMILES)
	case !hasSMILES && !isFingerprint:
		return fmt.Errorf("an oracle has the input %s BYTES [-1], or %s FP32 [%d]",
			tensorSMILES, tensorFingerprint, fingerprintBits)
	case !hasSMILES && !o.batched:
		return fmt.Errorf("an oracle of fingerprints has a max_batch_size above 0")
	}
	for _, out := range config.Outputs {
		if out.Datatype != triton.FP32 || !single(out.Shape) {
			continue
		}
		if out.Name == tensorScore {
			o.outputs = slices.Insert(o.outputs, 0, out.Name)
		} else {
			o.outputs = append(o.outputs, out.Name)
		}
	}
	if len(o.outputs) == 0 {
		return fmt.Errorf("an oracle has an output %s FP32 [1]", tensorScore)
	}
	return nil
}

// single reports whether a tensor with this shape has one value per molecule.
func single(shape []int64) bool { return len(shape) == 1 && (shape[0] == 1 || shape[0] == -1) }

func (o *tritonOracle) Name() string { return o.name }

func (o *tritonOracle) Outputs() []string { return o.outputs }

func (o *tritonOracle) Unit() float64 { return o.unit }

func (o *tritonOracle) Facts() chem.Facts {
	if o.smiles {
		return 0
	}
	return chem.FactFingerprint
}

// Score scores molecules in batches shared with other requests. An error of the model has the name of the oracle and
// the model's own message, which the operator wrote.
func (o *tritonOracle) Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	rows, err := o.batcher.Do(ctx, molecules)
	if err == nil || ctx.Err() != nil {
		return rows, err
	}
	f := fault.As(err)
	switch f.Kind {
	case fault.Internal, fault.Rejected, fault.NotFound:
		cause := fmt.Errorf("%w: %w", objective.ErrBroken, err)
		return rows, fault.Wrap(fault.Unavailable, cause, "the oracle %s failed: %s", o.name, f.Message)
	}
	return rows, err
}

// inferAndCount calls infer and counts the outcomes.
func (o *tritonOracle) inferAndCount(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	rows, err := o.infer(ctx, molecules)
	if err != nil {
		o.count(o.name, "failed", len(molecules))
		return nil, err
	}
	none := 0
	for _, row := range rows {
		if math.IsNaN(row[0]) || math.IsInf(row[0], 0) {
			none++
		}
	}
	o.count(o.name, "none", none)
	o.count(o.name, "scored", len(rows)-none)
	return rows, nil
}

// infer scores molecules in one call to Triton.
func (o *tritonOracle) infer(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error) {
	call, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	response, err := o.client.Infer(call, &triton.Request{
		Model:   o.model,
		Outputs: o.outputs,
		Inputs:  []triton.Tensor{o.input(molecules)},
	})
	if err != nil {
		if call.Err() != nil && ctx.Err() == nil {
			return nil, fault.Wrap(fault.Timeout, err, "the oracle %s did not score %d molecules within %v",
				o.name, len(molecules), o.timeout)
		}
		return nil, err
	}
	rows := make([][]float64, len(molecules))
	for _, output := range o.outputs {
		values, err := response.FloatRows(output, len(molecules), 1)
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			rows[i] = append(rows[i], float64(value[0]))
		}
	}
	return rows, nil
}

func (o *tritonOracle) input(molecules []*chem.Molecule) triton.Tensor {
	count := int64(len(molecules))
	if o.smiles {
		texts := make([]string, len(molecules))
		for i, m := range molecules {
			texts[i] = m.SMILES()
		}
		if o.batched {
			return triton.Strings(tensorSMILES, []int64{count, 1}, texts)
		}
		return triton.Strings(tensorSMILES, []int64{count}, texts)
	}
	values := make([]float32, len(molecules)*fingerprintBits)
	for i, m := range molecules {
		fingerprint := m.Fingerprint()
		for b := range fingerprintBits {
			if fingerprint.Has(b) {
				values[i*fingerprintBits+b] = 1
			}
		}
	}
	return triton.Float32s(tensorFingerprint, []int64{count, int64(fingerprintBits)}, values)
}
