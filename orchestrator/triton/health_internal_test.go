package triton

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "retort/orchestrator/triton/inferencepb"
)

var errKilled = status.Error(codes.Internal, "Stub process 'm_0_0' is not healthy.")

// A model of which no request was kept is sick for a while each time a call finds it dead.
func TestSicknessWithoutAKeptRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &replica{}
		m := &pb.ModelInferRequest{ModelName: "m"}
		for range 3 {
			r.learn(m, errKilled)
			if r.sickness("m") == "" {
				t.Error("a dead model is well")
			}
			time.Sleep(sickUnprobed + time.Second)
			if r.sickness("m") != "" {
				t.Error("no call may find out whether the model is back")
			}
		}
	})
}

// A model whose process lives but which no longer answers the kept request gets a call after a while, and what that
// call asked is kept instead. One whose process is dead gets none as long as probes say so.
func TestSicknessThatProbesFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &replica{}
		old := &pb.ModelInferRequest{ModelName: "m", Id: "old"}
		r.learn(old, nil)
		h := r.health("m")
		time.Sleep(idleProbe + time.Second)
		failed := status.Error(codes.Internal, "index out of range")
		for until := time.Now().Add(sickProbed - time.Second); time.Now().Before(until); time.Sleep(time.Second) {
			h.ended(h.due(), failed)
			if r.sickness("m") == "" {
				t.Fatal("a model that fails its probe is well")
			}
		}
		time.Sleep(3 * time.Second)
		if r.sickness("m") != "" {
			t.Error("no call may find out whether the model has only changed")
		}
		r.learn(&pb.ModelInferRequest{ModelName: "m", Id: "new"}, nil)
		if r.sickness("m") != "" || h.kept.Id != "new" {
			t.Errorf("after an answer: %q, and %s is kept", r.sickness("m"), h.kept.Id)
		}
		r.learn(old, errKilled)
		for range int(2 * sickProbed / time.Second) {
			h.ended(h.due(), errKilled)
			time.Sleep(time.Second)
			if r.sickness("m") == "" {
				t.Fatal("a dead model is well")
			}
		}
	})
}

// What was learnt of a model that has changed is forgotten.
func TestForgetting(t *testing.T) {
	r := &replica{}
	c := &Client{pool: &pool{}}
	c.pool.replicas.Store(&[]*replica{r})
	r.learn(&pb.ModelInferRequest{ModelName: "m"}, errKilled)
	c.forget("m")
	if r.sickness("m") != "" || r.health("m").kept != nil {
		t.Error("the model's past is remembered")
	}
}
