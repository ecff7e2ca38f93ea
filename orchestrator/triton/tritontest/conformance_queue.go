package tritontest

import (
	"context"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// sleep calls the slow model.
func (x *suite) sleep(ctx context.Context, milliseconds int32, parameters map[string]any) (*triton.Response, error) {
	r := request("conformance_slow", triton.New("MILLISECONDS", []int64{1, 1}, []int32{milliseconds}))
	r.Parameters = parameters
	return x.client.Infer(ctx, r)
}

// deadline tests that a deadline and a cancellation end the request on the server. The slow model serves one request at
// a time, so the next request shows it.
func (x *suite) deadline(t *testing.T) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(x.ctx(t), 100*time.Millisecond)
	defer cancel()
	_, err := x.sleep(ctx, 20_000, nil)
	wantFault(t, err, fault.Timeout, "the request took longer than its time limit")

	ctx, cancel = context.WithCancel(x.ctx(t))
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = x.sleep(ctx, 20_000, nil)
	wantFault(t, err, fault.Canceled, "the request was canceled")

	r, err := x.sleep(x.ctx(t), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := r.Output("CANCELED")
	if canceled, err := triton.Values[int32](out); err != nil || canceled[0] < 2 {
		t.Errorf("the model noticed %v of 2 departed callers, %v", canceled, err)
	}
	if took := time.Since(started); took > 3*time.Second {
		t.Errorf("the model was busy for %v", took)
	}
}

// fullQueue bounds the queue to one request. It does not check which of several requests are refused: with such a limit
// tritonserver 2.51 sometimes waits half a second before it reads its queue.
func (x *suite) fullQueue(t *testing.T) {
	x.reconfigure(t, map[string]any{"default_queue_policy": map[string]any{
		"max_queue_size":               1,
		"default_timeout_microseconds": 20_000_000,
		"allow_timeout_override":       true,
	}})
	errs := make([]error, 5)
	var calls sync.WaitGroup
	for i := range errs {
		calls.Go(func() { _, errs[i] = x.sleep(x.ctx(t), 300, nil) })
	}
	calls.Wait()
	answered := 0
	for _, err := range errs {
		if err == nil {
			answered++
			continue
		}
		wantFault(t, err, fault.Overloaded, "Exceeds maximum queue size")
		if fault.As(err).RetryAfter <= 0 {
			t.Error("no RetryAfter")
		}
	}
	if answered == 0 || answered > 2 {
		t.Errorf("%d of %d requests were answered, want 1 or 2", answered, len(errs))
	}
	x.testQueueTimeout(t)
}

// testQueueTimeout gives a request 50 ms in the queue while another takes longer.
func (x *suite) testQueueTimeout(t *testing.T) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for range 5 {
		calls.Go(func() { _, _ = x.sleep(x.ctx(t), 400, nil) })
		time.Sleep(100 * time.Millisecond)
		_, err := x.sleep(x.ctx(t), 0, map[string]any{"timeout": int64(50_000)})
		if err != nil && fault.As(err).Message != "Exceeds maximum queue size" {
			wantFault(t, err, fault.Overloaded, "Request timeout expired")
			return
		}
		calls.Wait()
	}
	t.Error("no request timed out in the queue")
}
