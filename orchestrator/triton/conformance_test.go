package triton_test

import (
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

func TestConformanceOfFake(t *testing.T) {
	tritontest.Conformance(t, tritontest.Fake(t), triton.InFlight)
}

// TestConformanceOfReal runs the suite on a tritonserver; tritontest.Real says how to name one.
func TestConformanceOfReal(t *testing.T) {
	tritontest.Conformance(t, tritontest.Real(t), triton.InFlight)
}
