package tritontest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// count reads a stream of the counting model to its end.
func (x *trial) count(ctx context.Context, inputs ...triton.Tensor) (values []int32, err error) {
	responses, err := x.client.Stream(ctx, &triton.Request{Model: "conformance_count", Inputs: inputs})
	if err != nil {
		return nil, err
	}
	for r, err := range responses {
		if err != nil {
			return values, err
		}
		out, err := r.Output("VALUE")
		if err != nil {
			return values, err
		}
		value, err := triton.Values[int32](out)
		if err != nil {
			return values, err
		}
		values = append(values, value...)
	}
	return values, nil
}

func (x *trial) streams(t *testing.T) {
	for n := range int32(4) {
		want := []int32{0, 1, 2, 3}[:n]
		got, err := x.count(x.ctx(t), number("N", n))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("counted %v, %v; want %v", got, err, want)
		}
	}
	responses, err := x.client.Stream(x.ctx(t), &triton.Request{Model: "conformance_slow",
		Inputs: []triton.Tensor{triton.New("MILLISECONDS", []int64{1, 1}, []int32{1})}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range responses {
		if n++; err != nil {
			t.Errorf("the one response of a model that is not decoupled: %+v, %v", r, err)
		}
	}
	for range responses {
		n++
	}
	if n != 1 {
		t.Errorf("%d responses of a model that is not decoupled, read twice", n)
	}
}

// streamErrors come before the first response, or end the sequence.
func (x *trial) streamErrors(t *testing.T) {
	_, err := x.client.Stream(x.ctx(t), &triton.Request{Model: "no_such_model"})
	refused(t, err, fault.NotFound, "Request for unknown model: 'no_such_model' is not found")
	_, err = x.client.Stream(x.ctx(t), &triton.Request{Model: "conformance_count"})
	refused(t, err, fault.Rejected, "expected number of inputs between 1 and 3 but got 0 inputs for model 'conformance_count'. "+
		"Got input(s) [], but missing required input(s) ['N']. Please provide all required input(s).")
	_, err = x.client.Stream(x.ctx(t), &triton.Request{Model: "conformance_count", Inputs: []triton.Tensor{number("N", 3), number("FAIL", 0)}})
	refused(t, err, fault.Internal, "told to fail at 0")
	got, err := x.count(x.ctx(t), number("N", 3), number("FAIL", 2))
	refused(t, err, fault.Internal, "told to fail at 2")
	if !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("before the error came %v", got)
	}
}

// streamCanceled leaves streams in three ways; the model must notice each.
func (x *trial) streamCanceled(t *testing.T) {
	before := x.canceled(t)
	long := &triton.Request{Model: "conformance_count", Inputs: []triton.Tensor{number("N", 1000), number("PAUSE", 20)}}

	responses, err := x.client.Stream(x.ctx(t), long)
	if err != nil {
		t.Fatal(err)
	}
	for range responses {
		break
	}
	ctx, cancel := context.WithTimeout(x.ctx(t), 200*time.Millisecond)
	defer cancel()
	_, err = x.count(ctx, long.Inputs...)
	refused(t, err, fault.Timeout, "the request took longer than its time limit")

	ctx, cancel = context.WithCancel(x.ctx(t))
	if _, err = x.client.Stream(ctx, long); err != nil {
		t.Fatal(err)
	}
	cancel() // without reading
	for until := time.Now().Add(5 * time.Second); x.canceled(t) < before+3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the model saw %d of 3 callers leave", x.canceled(t)-before)
		}
	}
	for until := time.Now().Add(time.Second); x.inFlight(x.client) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d streams that were left still count as in flight", x.inFlight(x.client))
		}
	}
}

func (x *trial) canceled(t *testing.T) int32 {
	t.Helper()
	responses, err := x.client.Stream(x.ctx(t), &triton.Request{Model: "conformance_count", Inputs: []triton.Tensor{number("N", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	var n int32
	for r, err := range responses {
		if err != nil {
			t.Fatal(err)
		}
		out, _ := r.Output("CANCELED")
		values, err := triton.Values[int32](out)
		if err != nil {
			t.Fatal(err)
		}
		n = values[0]
	}
	return n
}

// streamsLeft leaves many streams at all points, right after a response and right before the last among them, several
// side by side: the server lives on, and answers.
func (x *trial) streamsLeft(t *testing.T) {
	const responses = 6
	for _, pause := range []int32{0, 1, 12} {
		var all sync.WaitGroup
		for leave := range responses + 2 {
			all.Go(func() {
				for range 40 {
					if err := x.readSome(t, leave, number("N", responses), number("PAUSE", pause)); err != nil {
						t.Errorf("left after %d responses, %d ms apart: %v", leave, pause, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	if got, err := x.count(x.ctx(t), number("N", 2)); err != nil || len(got) != 2 {
		t.Errorf("counted %v after streams were left, %v", got, err)
	}
}

// readSome reads so many responses of a stream and leaves it.
func (x *trial) readSome(t *testing.T, most int, inputs ...triton.Tensor) error {
	responses, err := x.client.Stream(x.ctx(t), &triton.Request{Model: "conformance_count", Inputs: inputs})
	if err != nil {
		return err
	}
	n := 0
	for _, err := range responses {
		if err != nil {
			return err
		}
		if n++; n > most {
			break
		}
	}
	return nil
}

// streamsProbed has a client probe a model of streams many times, by an error after every answer: the server lives on.
func (x *trial) streamsProbed(t *testing.T) {
	fresh, err := triton.Dial(triton.Config{URLs: []string{x.URL}}) // its first request is the one that probes repeat
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fresh.Close)
	y := &trial{Target: x.Target, client: fresh}
	for n := range 500 {
		if _, err := y.count(y.ctx(t), number("N", 1)); err != nil {
			t.Fatalf("after %d probes: %v", n, err)
		}
		_, err := y.count(y.ctx(t), number("N", 1), number("FAIL", 0))
		refused(t, err, fault.Internal, "told to fail at 0")
	}
}
