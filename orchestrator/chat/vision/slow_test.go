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

// answers is a fake of an image's servers.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// drip is a body that comes piece by piece.
type drip struct {
	ctx    context.Context
	pieces int // still to come
	bytes  int // of each
	pause  time.Duration
}

func (d *drip) Read(into []byte) (int, error) {
	if d.pieces == 0 {
		return 0, io.EOF
	}
	d.pieces--
	return min(d.bytes, len(into)), wait(d.ctx, d.pause)
}

func (d *drip) Close() error { return nil }

func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// The servers of an image share one time limit, in which waiting for memory does not count.
func TestFetchTimeout(t *testing.T) {
	const within = 10 * time.Second
	dripping := func(pieces, length int, pause time.Duration) answers {
		return func(r *http.Request) (*http.Response, error) {
			body := &drip{ctx: r.Context(), pieces: pieces, bytes: 1 << 10, pause: pause}
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
		servers answers
		memory  time.Duration // for which each piece waits
		want    string
		took    time.Duration
	}{
		"quick":                              {dripping(200, -1, time.Millisecond), 0, "", 200 * time.Millisecond},
		"dripping":                           {dripping(1000, -1, 500*time.Millisecond), 0, "not be fetched within 10s", within},
		"dripping, of a length":              {dripping(1000, 1000<<10, 500*time.Millisecond), 0, "not be fetched within 10s", within},
		"dripping, the first piece in time":  {dripping(1000, -1, 150*time.Millisecond), 0, "not be fetched within 10s", within},
		"redirecting":                        {redirecting, 0, "not be fetched within 10s", within},
		"quick, while memory is scarce":      {dripping(200, -1, time.Millisecond), time.Minute, "", 3*time.Minute + 200*time.Millisecond},
		"dripping, while memory is scarce":   {dripping(1000, -1, 100*time.Millisecond), time.Minute, "not be fetched within 10s", 2*time.Minute + within},
		"slow at last, when nothing is left": {dripping(65, -1, 154*time.Millisecond), time.Minute, "not be fetched within 10s", 2*time.Minute + within},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFetcher(Config{MaxBytes: 1 << 20, FetchTimeout: within, FetchHops: 3})
				f.client.Transport = c.servers
				began := time.Now()
				_, err := f.fetch(t.Context(), &url.URL{Scheme: "http", Host: "images.example", Path: "/"}, func(int64) error {
					time.Sleep(c.memory)
					return nil
				})
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, not %v", took, c.took)
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}
