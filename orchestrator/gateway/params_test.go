package gateway

import (
	"net/http"
	"testing"

	"retort/orchestrator/gateway/httpserver"
)

// WithParams takes a permit.
func TestWithParamsTakesAPermit(t *testing.T) {
	k := blockingKitchen{&kitchen{}, make(chan struct{}), make(chan struct{})}
	url, _ := openAPI(t, k, func(o *Options) {
		o.Concurrency = 1
		o.Queue = 0
	}, httpserver.Config{})
	request := func() int {
		res, err := http.Get(url + "/shelf/salt")
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	first := make(chan int)
	go func() { first <- request() }()
	<-k.began
	second := make(chan int)
	go func() { second <- request() }()
	select {
	case status := <-second:
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			t.Errorf("without a permit: %d", status)
		}
	case <-k.began:
		t.Error("two requests are served with one permit")
	}
	close(k.release)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first: %d", status)
	}
}
