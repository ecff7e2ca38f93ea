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

// count reads a whole stream of the counting model.
func (x *suite) count(ctx context.Context, inputs ...triton.Tensor) (values []int32, err error) {
	responses, err := x.client.Stream(ctx, request("conformance_count", inputs...))
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

func (x *suite) streams(t *testing.T) {
	for n := range int32(4) {
		want := []int32{0, 1, 2, 3}[:n]
		got, err := x.count(x.ctx(t), number("N", n))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("counted %v, %v; want %v", got, err, want)
		}
	}
	responses, err := x.client.Stream(x.ctx(t),
		request("conformance_slow", triton.New("MILLISECONDS", []int64{1, 1}, []int32{1})))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range responses {
		if n++; err != nil {
			t.Errorf("the response of a model that is not decoupled: %+v, %v", r, err)
		}
	}
	for range responses {
		n++
	}
	if n != 1 {
		t.Errorf("%d responses of a model that is not decoupled in two reads, want 1", n)
	}
}

// streamErrors tests errors before and after the first response.
func (x *suite) streamErrors(t *testing.T) {
	_, err := x.client.Stream(x.ctx(t), request("no_such_model"))
	wantFault(t, err, fault.NotFound, "Request for unknown model: 'no_such_model' is not found")
	_, err = x.client.Stream(x.ctx(t), request("conformance_count"))
	wantFault(t, err, fault.Rejected,
		"expected number of inputs between 1 and 3 but got 0 inputs for model 'conformance_count'. "+
			"Got input(s) [], but missing required input(s) ['N']. Please provide all required input(s).")
	_, err = x.client.Stream(x.ctx(t), request("conformance_count", number("N", 3), number("FAIL", 0)))
	wantFault(t, err, fault.Internal, "told to fail at 0")
	got, err := x.count(x.ctx(t), number("N", 3), number("FAIL", 2))
	wantFault(t, err, fault.Internal, "told to fail at 2")
	if !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("got %v before the error, want [0 1]", got)
	}
}

// streamCanceled leaves streams in three ways. The model must notice each.
func (x *suite) streamCanceled(t *testing.T) {
	before := x.canceled(t)
	long := request("conformance_count", number("N", 1000), number("PAUSE", 20))

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
	wantFault(t, err, fault.Timeout, "the request took longer than its time limit")

	ctx, cancel = context.WithCancel(x.ctx(t))
	if _, err = x.client.Stream(ctx, long); err != nil {
		t.Fatal(err)
	}
	cancel() // without reading
	for until := time.Now().Add(5 * time.Second); x.canceled(t) < before+3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the model noticed %d of 3 departed callers", x.canceled(t)-before)
		}
	}
	for until := time.Now().Add(time.Second); x.inFlight(x.client) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d abandoned streams still count as in flight", x.inFlight(x.client))
		}
	}
}

// canceled returns how many departed callers the counting model has noticed.
func (x *suite) canceled(t *testing.T) int32 {
	t.Helper()
	responses, err := x.client.Stream(x.ctx(t), request("conformance_count", number("N", 1)))
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

// streamsLeft leaves many concurrent streams after any number of responses. The server must survive.
func (x *suite) streamsLeft(t *testing.T) {
	const responses = 6
	for _, pause := range []int32{0, 1, 12} {
		var all sync.WaitGroup
		for leave := range responses + 2 {
			all.Go(func() {
				for range 40 {
					if err := x.readSome(t, leave, number("N", responses), number("PAUSE", pause)); err != nil {
						t.Errorf("leaving after %d responses, %d ms apart: %v", leave, pause, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	if got, err := x.count(x.ctx(t), number("N", 2)); err != nil || len(got) != 2 {
		t.Errorf("counted %v after leaving streams, %v", got, err)
	}
}

// readSome reads count+1 responses of a stream, if there are that many, and leaves it.
func (x *suite) readSome(t *testing.T, count int, inputs ...triton.Tensor) error {
	responses, err := x.client.Stream(x.ctx(t), request("conformance_count", inputs...))
	if err != nil {
		return err
	}
	n := 0
	for _, err := range responses {
		if err != nil {
			return err
		}
		if n++; n > count {
			break
		}
	}
	return nil
}

// streamsProbed has a client probe a decoupled model many times, by an error after each answer. The server must
// survive.
func (x *suite) streamsProbed(t *testing.T) {
	fresh, err := triton.Dial(triton.Config{URLs: []string{x.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fresh.Close)
	y := &suite{Target: x.Target, client: fresh}
	for n := range 500 {
		if _, err := y.count(y.ctx(t), number("N", 1)); err != nil {
			t.Fatalf("after %d probes: %v", n, err)
		}
		_, err := y.count(y.ctx(t), number("N", 1), number("FAIL", 0))
		wantFault(t, err, fault.Internal, "told to fail at 0")
	}
}
