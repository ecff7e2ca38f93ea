package vision

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// roundTripper fakes an image's servers.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowBody is a body whose pieces arrive with a pause before each.
type slowBody struct {
	ctx    context.Context
	pieces int // remaining
	bytes  int // of each
	pause  time.Duration
}

func (b *slowBody) Read(into []byte) (int, error) {
	if b.pieces == 0 {
		return 0, io.EOF
	}
	b.pieces--
	return min(b.bytes, len(into)), wait(b.ctx, b.pause)
}

func (b *slowBody) Close() error { return nil }

func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// TestFetchTimeout checks that an image's servers share one time limit, which excludes waiting for memory.
func TestFetchTimeout(t *testing.T) {
	const limit = 10 * time.Second
	dripping := func(pieces, length int, pause time.Duration) roundTripper {
		return func(r *http.Request) (*http.Response, error) {
			body := &slowBody{ctx: r.Context(), pieces: pieces, bytes: 1 << 10, pause: pause}
			return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(length), Body: body}, nil
		}
	}
	redirecting := func(r *http.Request) (*http.Response, error) {
		if err := wait(r.Context(), 4*time.Second); err != nil {
			return nil, err
		}
		header := http.Header{"Location": {r.URL.Path + "x"}}
		return &http.Response{StatusCode: http.StatusFound, Header: header, Body: http.NoBody, Request: r}, nil
	}
	for name, c := range map[string]struct {
		servers roundTripper
		memory  time.Duration // wait of each reservation
		want    string
		took    time.Duration
	}{
		"quick":                            {dripping(200, -1, time.Millisecond), 0, "", 200 * time.Millisecond},
		"dripping":                         {dripping(1000, -1, 500*time.Millisecond), 0, "not be fetched within 10s", limit},
		"dripping, known length":           {dripping(1000, 1000<<10, 500*time.Millisecond), 0, "not be fetched within 10s", limit},
		"dripping, first piece in time":    {dripping(1000, -1, 150*time.Millisecond), 0, "not be fetched within 10s", limit},
		"redirecting":                      {redirecting, 0, "not be fetched within 10s", limit},
		"quick, while memory is scarce":    {dripping(200, -1, time.Millisecond), time.Minute, "", 3*time.Minute + 200*time.Millisecond},
		"dripping, while memory is scarce": {dripping(1000, -1, 100*time.Millisecond), time.Minute, "not be fetched within 10s", 2*time.Minute + limit},
		"slow when no time remains": {
			dripping(65, -1, 154*time.Millisecond), time.Minute, "not be fetched within 10s", 2*time.Minute + limit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFetcher(Config{MaxBytes: 1 << 20, FetchTimeout: limit, FetchHops: 3})
				f.client.Transport = c.servers
				start := time.Now()
				u := &url.URL{Scheme: "http", Host: "images.example", Path: "/"}
				_, err := f.fetch(t.Context(), u, func(int64) error {
					time.Sleep(c.memory)
					return nil
				})
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}
