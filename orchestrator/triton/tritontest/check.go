package tritontest

import (
	"fmt"
	"slices"
	"strings"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// noID is Triton's prefix for a request without an id.
const noID = "[request id: <id_unknown>] "

// check returns the error of Triton for a request that it refuses before the model sees it. The order of the checks is
// Triton's. triton.Client has checked that the tensors are valid.
func check(r *triton.Request, config *pb.ModelConfig) error {
	declared := triton.ConfigFrom(config)
	if err := checkParameters(r); err != nil {
		return err
	}
	for i, t := range r.Inputs {
		if slices.ContainsFunc(r.Inputs[:i], func(o triton.Tensor) bool { return o.Name == t.Name }) {
			return invalid(noID+"input '%s' already exists in request", t.Name)
		}
		if _, ok := declared.Input(t.Name); !ok {
			return invalid("unexpected inference input '%s' for model '%s'", t.Name, r.Model)
		}
	}
	for _, name := range r.Outputs {
		if _, ok := declared.Output(name); !ok {
			return invalid("unexpected inference output '%s' for model '%s'", name, r.Model)
		}
	}
	if err := checkMissing(r, declared); err != nil {
		return err
	}
	for _, t := range r.Inputs {
		if err := checkInput(t, r.Model, declared); err != nil {
			return err
		}
	}
	return nil
}

// checkParameters accepts the types that Triton 2.51 accepts.
func checkParameters(r *triton.Request) error {
	for name, value := range r.Parameters {
		switch value.(type) {
		case uint64, float64:
			if name != "priority" {
				return invalid("invalid value type for '%s' parameter, "+
					"expected int64_param, bool_param, or string_param.", name)
			}
		}
	}
	return nil
}

// checkMissing reports missing inputs.
func checkMissing(r *triton.Request, declared *triton.ModelConfig) error {
	var given, missing []string
	required := 0
	for _, t := range r.Inputs {
		given = append(given, "'"+t.Name+"'")
	}
	for _, in := range declared.Inputs {
		if in.Optional {
			continue
		}
		required++
		if _, ok := Input(r, in.Name); !ok {
			missing = append(missing, "'"+in.Name+"'")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	expected := fmt.Sprintf("expected %d inputs", required)
	if required < len(declared.Inputs) {
		expected = fmt.Sprintf("expected number of inputs between %d and %d", required, len(declared.Inputs))
	}
	return invalid(noID+"%s but got %d inputs for model '%s'. Got input(s) [%s], "+
		"but missing required input(s) [%s]. Please provide all required input(s).",
		expected, len(given), r.Model, strings.Join(given, ","), strings.Join(missing, ","))
}

// checkInput checks one tensor against its declaration.
func checkInput(t triton.Tensor, model string, declared *triton.ModelConfig) error {
	in, _ := declared.Input(t.Name)
	expected := in.Shape
	shape := t.Shape
	if t.Datatype != in.Datatype {
		return invalid(noID+"inference input '%s' data-type is '%s', but model '%s' expects '%s'",
			t.Name, t.Datatype, model, in.Datatype)
	}
	if declared.MaxBatch > 0 {
		if len(shape) > 0 && shape[0] > int64(declared.MaxBatch) {
			return invalid(noID+"inference request batch-size must be <= %d for '%s'", declared.MaxBatch, model)
		}
		expected = append([]int64{-1}, expected...)
	}
	if !fits(shape, expected) {
		return invalid(noID+"unexpected shape for input '%s' for model '%s'. Expected %s, got %s. ",
			t.Name, model, formatShape(expected), formatShape(shape))
	}
	return nil
}

// fits reports whether a shape matches the expected one, in which -1 is any size.
func fits(shape, expected []int64) bool {
	if len(shape) != len(expected) {
		return false
	}
	for i, dim := range expected {
		if dim >= 0 && shape[i] != dim {
			return false
		}
	}
	return true
}

// formatShape formats a shape as Triton does: [-1,3].
func formatShape(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
}
