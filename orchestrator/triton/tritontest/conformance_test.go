package tritontest

import "testing"

func TestFake(t *testing.T) { Conformance(t, Fake(t)) }

// TestReal runs the suite on a tritonserver; see Real for how to name one.
func TestReal(t *testing.T) { Conformance(t, Real(t)) }
