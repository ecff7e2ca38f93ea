package gateway

import (
	"context"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/gateway/httpserver"
)

// larder is an API whose requests last until end is closed.
type larder struct {
	*kitchen
	began chan struct{}
	end   chan struct{}
}

func (l *larder) Routes(r fiber.Router) {
	r.Get("/shelf/:name", WithParams(func(_ context.Context, q Params) (map[string]string, error) {
		l.began <- struct{}{}
		<-l.end
		return map[string]string{"name": q.Path("name")}, nil
	}))
}

// WithParams takes a permit.
func TestWithParamsTakesAPermit(t *testing.T) {
	l := &larder{kitchen: &kitchen{}, began: make(chan struct{}), end: make(chan struct{})}
	url, _ := openAPI(t, l, func(o *Options) {
		o.Concurrency = 1
		o.Queue = 0
	}, httpserver.Config{})
	look := func() int {
		res, err := http.Get(url + "/shelf/salt")
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	first := make(chan int)
	go func() { first <- look() }()
	<-l.began
	second := make(chan int)
	go func() { second <- look() }()
	select {
	case status := <-second:
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			t.Errorf("without a permit: %d", status)
		}
	case <-l.began:
		t.Error("two requests are served with one permit")
	}
	close(l.end)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first: %d", status)
	}
}
