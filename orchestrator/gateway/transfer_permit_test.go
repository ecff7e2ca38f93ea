package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/telemetry"
)

// An upload or a download waits for its permit no longer than transferPatience.
func TestTransferPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := telemetry.NewMetrics()
		x := &exchange{gateway: &Gateway{opts: Options{Metrics: metrics}}, request: &telemetry.Request{API: "kitchen"}}
		permits := admission.NewPermits("kitchen", 1, 8, metrics)
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		if err := x.takeTransferPermit(ctx, permits); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := x.takeTransferPermit(ctx, permits)
		took := time.Since(began)
		if fault.KindOf(err) != fault.Overloaded || fault.As(err).RetryAfter == 0 || took != transferPatience {
			t.Errorf("after %v: %v", took, err)
		}
		if count := total(t, metrics.Registry, "retort_http_refused_total"); count != 1 {
			t.Errorf("%v refusals are counted", count)
		}
		time.AfterFunc(time.Second, x.cleanups[0])
		if err := x.takeTransferPermit(ctx, permits); err != nil {
			t.Errorf("once a permit is free: %v", err)
		}
		short, leave := context.WithTimeout(ctx, time.Second)
		defer leave()
		if err := x.takeTransferPermit(short, permits); fault.KindOf(err) != fault.Timeout {
			t.Errorf("a request whose deadline has passed: %v", err)
		}
	})
}
