package modelcheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"retort/orchestrator/triton"
)

// contract are the tensors that an API exchanges with an entry, each as "name TYPE dimensions" without the rows.
type contract struct {
	inputs   []string // required
	optional []string // sent if the entry declares them
	outputs  []string // required
}

// contracts are those of the APIs whose openers do not check the tensors themselves: model_repository/README.md.
var contracts = map[string]contract{
	"embedding": {
		inputs:   []string{"input_ids INT64 1", "attention_mask INT64 1"},
		optional: []string{"token_type_ids INT64 1"},
		outputs:  []string{"sentence_embedding FP32 1"},
	},
	"ranking": {
		inputs:   []string{"input_ids INT64 1", "attention_mask INT64 1"},
		optional: []string{"token_type_ids INT64 1"},
		outputs:  []string{"logits FP32 1"},
	},
}

// checkTensors compares the declared tensors of an entry with the contract of its API.
func checkTensors(api string, entry *triton.Model) error {
	expected, ok := contracts[api]
	if !ok {
		return nil
	}
	var problems []error
	for _, text := range expected.inputs {
		problems = append(problems, compare("input", text, entry.Config.Inputs, true))
	}
	for _, text := range expected.optional {
		problems = append(problems, compare("input", text, entry.Config.Inputs, false))
	}
	for _, text := range expected.outputs {
		problems = append(problems, compare("output", text, entry.Config.Outputs, true))
	}
	known := slices.Concat(expected.inputs, expected.optional)
	for _, in := range entry.Config.Inputs {
		isKnown := func(text string) bool { return strings.HasPrefix(text, in.Name+" ") }
		if !in.Optional && !slices.ContainsFunc(known, isKnown) {
			problems = append(problems, fmt.Errorf("input %s is unknown: the gateway does not send it", in.Name))
		}
	}
	return errors.Join(problems...)
}

// compare looks for a tensor of a contract among the declared ones.
func compare(kind, text string, declared []triton.TensorInfo, required bool) error {
	var name, datatype string
	var dimensions int
	if _, err := fmt.Sscan(text, &name, &datatype, &dimensions); err != nil {
		return err
	}
	for _, t := range declared {
		if t.Name != name {
			continue
		}
		// Half-precision outputs are read too.
		isFloat := kind == "output" && datatype == "FP32" && slices.Contains([]triton.Datatype{"FP16", "BF16"}, t.Datatype)
		if t.Datatype != triton.Datatype(datatype) && !isFloat || len(t.Shape) != dimensions {
			return fmt.Errorf("%s %s is %s %v, not %s of %d dimensions",
				kind, name, t.Datatype, t.Shape, datatype, dimensions)
		}
		return nil
	}
	if required {
		return fmt.Errorf("%s %s is missing", kind, name)
	}
	return nil
}
