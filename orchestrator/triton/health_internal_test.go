package triton

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	pb "retort/orchestrator/triton/inferencepb"
)

var (
	errKilled  = status.Error(codes.Internal, "Stub process 'm_0_0' is not healthy.")
	errBroken  = status.Error(codes.Internal, "index out of range")
	errLate    = status.FromContextError(context.DeadlineExceeded).Err()
	errRefused = status.Error(codes.InvalidArgument, "unexpected inference input 'x' for model 'm'")
	// errRefusedStream has no code of its own, like any error inside a stream.
	errRefusedStream = status.Error(codes.Internal, "but missing required input(s)")
)

// A model without probes is sick for sickTimeUnprobed after each call that finds it dead.
func TestSicknessWithoutProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Replica{}
		r.recordResult("m", true, nil)
		for range 3 {
			r.recordResult("m", true, errKilled)
			if r.sickness("m") == "" {
				t.Error("a dead model is healthy")
			}
			if r.health("m").claimProbe() {
				t.Error("a model that must not be probed is probed")
			}
			time.Sleep(sickTimeUnprobed + time.Second)
			if r.sickness("m") != "" {
				t.Error("the model gets no call that shows whether it is back")
			}
		}
	})
}

// A model that fails its probe gets a call after sickTimeProbed. A model whose process is dead gets none while probes
// find it dead.
func TestSicknessWithProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Replica{}
		r.recordResult("m", false, nil)
		h := r.health("m")
		time.Sleep(idleTime + time.Second)
		probe := func(result error) {
			t.Helper()
			if !h.claimProbe() {
				t.Fatal("no probe is due")
			}
			h.endProbe(result)
		}
		probe(nil)
		time.Sleep(idleTime + time.Second)
		for until := time.Now().Add(sickTimeProbed - time.Second); time.Now().Before(until); time.Sleep(time.Second) {
			probe(errBroken)
			if r.sickness("m") == "" {
				t.Fatal("a model that fails its probe is healthy")
			}
		}
		time.Sleep(3 * time.Second)
		if r.sickness("m") != "" {
			t.Error("the model gets no call that shows whether it has changed")
		}
		r.recordResult("m", false, nil)
		if r.sickness("m") != "" {
			t.Errorf("after an answer: %q", r.sickness("m"))
		}
		r.recordResult("m", false, errKilled)
		for range int(2 * sickTimeProbed / time.Second) {
			probe(errKilled)
			time.Sleep(time.Second)
			if r.sickness("m") == "" {
				t.Fatal("a dead model is healthy")
			}
		}
	})
}

// The verdict of a probe depends on whether the model has answered one before.
func TestVerdictsOfProbes(t *testing.T) {
	for name, test := range map[string]struct {
		before   []error // results of earlier probes
		call     error   // result of a later call
		result   error   // of the last probe
		sick     bool
		unprobed bool
	}{
		"failing after an answer":       {before: []error{nil}, call: errBroken, result: errBroken, sick: true},
		"error of the client":           {before: []error{nil}, call: errBroken, result: nil},
		"failing without an answer":     {before: []error{errBroken}, call: errBroken, result: errBroken},
		"failing before any probe":      {call: errBroken, result: errBroken},
		"dead, found by a call":         {before: []error{errBroken}, call: errKilled, result: errKilled, sick: true},
		"dead, found by a probe":        {before: []error{errBroken}, result: errKilled, sick: true},
		"back, failing the probe":       {before: []error{errBroken}, call: errKilled, result: errBroken},
		"killed by its first probe":     {result: errKilled, sick: true, unprobed: true},
		"found dead by its first probe": {call: errBroken, result: errKilled, sick: true},
		"refuses the probe":             {result: errRefused, unprobed: true},
		"refuses the probe in a stream": {result: errRefusedStream, unprobed: true},
		"refuses a later probe":         {before: []error{nil}, call: errBroken, result: errRefused},
		"late":                          {before: []error{nil}, call: errBroken, result: errLate},
		"stream without responses":      {before: []error{nil}, result: nil},
		"truncated stream":              {before: []error{nil}, result: io.EOF, sick: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &Replica{}
			r.recordResult("m", false, nil)
			h := r.health("m")
			for _, result := range append(test.before, test.result) {
				time.Sleep(idleTime + time.Second)
				if len(test.before) == 0 && test.call != nil {
					r.recordResult("m", false, test.call)
				}
				if !h.claimProbe() {
					t.Fatalf("%s: no probe is due", name)
				}
				h.endProbe(result)
				if len(test.before) > 0 && test.call != nil {
					r.recordResult("m", false, test.call)
					test.call = nil
				}
			}
			if (r.sickness("m") != "") != test.sick || h.noProbes != test.unprobed {
				t.Errorf("%s: sick is %q, unprobed %t", name, r.sickness("m"), h.noProbes)
			}
		})
	}
}

// A busy model is probed once, which later verdicts need. An idle model is probed every idleTime.
func TestProbesAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Replica{}
		h := r.health("m")
		probes := 0
		for range 3 * int(idleTime/time.Second) {
			r.recordResult("m", false, nil)
			if h.claimProbe() {
				if h.claimProbe() {
					t.Error("a second probe while the first is running")
				}
				probes++
				h.endProbe(nil)
			}
			time.Sleep(time.Second)
		}
		if probes != 1 {
			t.Errorf("%d probes of a busy model, want 1", probes)
		}
		for range 3 {
			time.Sleep(idleTime)
			if !h.claimProbe() {
				t.Error("an idle model is not probed")
			}
			h.endProbe(nil)
		}
	})
}

// Probes of a model that is too slow for them back off, whether it has calls or not.
func TestProbesOfSlowModel(t *testing.T) {
	for name, busy := range map[string]bool{"busy": true, "idle": false} {
		for _, late := range []error{errLate, status.FromContextError(context.Canceled).Err()} {
			synctest.Test(t, func(t *testing.T) {
				r := &Replica{}
				r.recordResult("m", false, nil)
				h := r.health("m")
				probes := 0
				for until := time.Now().Add(time.Hour); time.Now().Before(until); {
					time.Sleep(time.Second)
					if busy {
						r.recordResult("m", false, nil)
					}
					if h.claimProbe() {
						probes++
						time.Sleep(modelProbeTimeout)
						h.endProbe(late)
					}
				}
				if probes < 6 || probes > 12 {
					t.Errorf("%d probes of a slow, %s model in an hour, after %v", probes, name, late)
				}
				time.Sleep(maxProbeBackoff)
				if !h.claimProbe() {
					t.Fatal("no probe is due")
				}
				h.endProbe(nil)
				time.Sleep(idleTime)
				if !h.claimProbe() {
					t.Error("the backoff remains after an answer in time")
				}
			})
		}
	}
}

func TestForget(t *testing.T) {
	r := &Replica{}
	c := &Client{pool: &pool{}}
	c.pool.replicas.Store(&[]*Replica{r})
	r.recordResult("m", true, errKilled)
	c.Forget("m")
	if r.sickness("m") != "" || r.health("m").noProbes {
		t.Error("the health of the model was not dropped")
	}
}

// A probe has the required inputs of the model's configuration, filled with ones.
func TestProbeRequest(t *testing.T) {
	for name, test := range map[string]struct{ config, want string }{
		"rows, variable dimensions, an optional input": {
			config: `name: "m" max_batch_size: 8
				input { name: "ids" data_type: TYPE_INT64 dims: [ -1, 2 ] }
				input { name: "text" data_type: TYPE_STRING dims: [ 1 ] }
				input { name: "seed" data_type: TYPE_INT64 dims: [ 1 ] optional: true }`,
			want: `model_name: "m" id: "probe"
				inputs { name: "ids" datatype: "INT64" shape: [ 1, 1, 2 ] }
				inputs { name: "text" datatype: "BYTES" shape: [ 1, 1 ] }
				raw_input_contents: "\001\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000"
				raw_input_contents: "\000\000\000\000"`,
		},
		"a stream without rows": {
			config: `name: "m" model_transaction_policy { decoupled: true }
				input { name: "flag" data_type: TYPE_BOOL dims: [ 3 ] }`,
			want: `model_name: "m" id: "probe"
				inputs { name: "flag" datatype: "BOOL" shape: [ 3 ] }
				raw_input_contents: "\001\001\001"
				parameters { key: "triton_enable_empty_final_response" value { bool_param: true } }`,
		},
		"shapes of a warm-up": {
			config: `name: "m" max_batch_size: 8 input { name: "x" data_type: TYPE_UINT8 dims: [ -1 ] }
				model_warmup { inputs { key: "x" value { data_type: TYPE_UINT8 dims: [ 9 ] input_data_file: "x" } } }
				model_warmup {
					batch_size: 4 inputs { key: "x" value { data_type: TYPE_UINT8 dims: [ 2 ] random_data: true } } }`,
			want: `model_name: "m" id: "probe"
				inputs { name: "x" datatype: "UINT8" shape: [ 1, 2 ] }
				raw_input_contents: "\001\001"`,
		},
		"zeros of a warm-up, and floats of each width": {
			config: `name: "m" model_warmup {
				inputs { key: "a" value { data_type: TYPE_FP16 dims: [ 1 ] random_data: true } }
				inputs { key: "b" value { data_type: TYPE_BF16 dims: [ 1 ] random_data: true } }
				inputs { key: "c" value { data_type: TYPE_FP32 dims: [ ] random_data: true } }
				inputs { key: "d" value { data_type: TYPE_FP64 dims: [ 1 ] random_data: true } }
				inputs { key: "e" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } } }`,
			want: `model_name: "m" id: "probe"
				inputs { name: "a" datatype: "FP16" shape: [ 1 ] }
				inputs { name: "b" datatype: "BF16" shape: [ 1 ] }
				inputs { name: "c" datatype: "FP32" }
				inputs { name: "d" datatype: "FP64" shape: [ 1 ] }
				inputs { name: "e" datatype: "INT32" shape: [ 1 ] }
				raw_input_contents: "\000\074" raw_input_contents: "\200\077" raw_input_contents: "\000\000\200\077"
				raw_input_contents: "\000\000\000\000\000\000\360\077" raw_input_contents: "\000\000\000\000"`,
		},
		"sequences": {config: `name: "m" sequence_batching { }
			input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }`},
		"cache": {config: `name: "m" response_cache { enable: true }
			input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }`},
		"too large": {config: `name: "m" input { name: "x" data_type: TYPE_FP32 dims: [ 1000, 1000 ] }`},
		"overflow": {config: `name: "m"
			input { name: "x" data_type: TYPE_FP32 dims: [ 4611686018427387904, 4 ] }`},
		"unknown type": {config: `name: "m" input { name: "x" dims: [ 1 ] }`},
	} {
		config := &pb.ModelConfig{}
		if err := prototext.Unmarshal([]byte(test.config), config); err != nil {
			t.Fatal(err)
		}
		var want *pb.ModelInferRequest
		if test.want != "" {
			want = &pb.ModelInferRequest{}
			if err := prototext.Unmarshal([]byte(test.want), want); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(prototext.Format(want), prototext.Format(probeRequest(config))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
