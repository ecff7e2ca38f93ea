package vision

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"retort/orchestrator/fault"
)

// fetcher gets image files over http. Nothing of the request that asks for them travels along, and nothing of the
// answer but the bytes is used.
type fetcher struct {
	client *http.Client
	most   int
	within time.Duration
}

func newFetcher(c Config) *fetcher {
	dialer := &net.Dialer{Timeout: c.FetchTimeout, ControlContext: guard{c.FetchAllow}.check}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy would resolve names beyond the guard
		DialContext:            dialer.DialContext,
		DisableCompression:     true, // images are compressed; a bomb is not unpacked
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           16,
		MaxConnsPerHost:        16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &fetcher{
		client: &http.Client{Transport: transport, CheckRedirect: redirects(c.FetchHops)},
		most:   c.MaxBytes,
		within: c.FetchTimeout,
	}
}

func redirects(most int) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if len(via) > most {
			return fault.New(fault.Invalid, "the image's URL is redirected more than %d times", most)
		}
		next.Header.Del("Referer")
		return acceptable(next.URL)
	}
}

// acceptable judges a URL as it is written.
func acceptable(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fault.New(fault.Invalid, "images are taken from data, http and https URLs, not %q", u.Scheme)
	case u.Hostname() == "":
		return fault.New(fault.Invalid, "the image's URL has no host")
	case u.User != nil:
		return fault.New(fault.Invalid, "an image's URL must not hold a user name or password")
	}
	return nil
}

// fetch returns the bytes at u. hold is asked before bytes are taken into memory, and may refuse. Other errors are
// faults of the caller's request and tell nothing about networks that the caller cannot see.
func (f *fetcher) fetch(ctx context.Context, u *url.URL, hold func(bytes int64) error) ([]byte, error) {
	fetching, end := context.WithCancelCause(ctx)
	defer end(nil)
	clock := startCountdown(f.within, func() { end(errSlow) })
	defer clock.pause()
	holdPaused := func(bytes int64) error { // holdPaused for memory is not the time of the image's server
		clock.pause()
		defer clock.resume()
		return hold(bytes)
	}
	request, err := http.NewRequestWithContext(fetching, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the image's URL is not valid")
	}
	request.Header.Set("Accept", "image/png, image/jpeg, image/webp, image/gif")
	request.Header.Set("User-Agent", "retort")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, f.failed(ctx, fetching, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fault.New(fault.Invalid, "the image could not be fetched: its server answered %d", response.StatusCode)
	}
	if response.ContentLength > int64(f.most) {
		return nil, tooManyBytes(f.most)
	}
	file, err := f.read(response, holdPaused)
	if err != nil {
		return nil, f.failed(ctx, fetching, err)
	}
	return file, nil
}

// countdown calls a function after a duration in which pauses do not count. It is for one goroutine.
type countdown struct {
	timer     *time.Timer
	remaining time.Duration // at resumed
	resumed   time.Time     // or started
}

func startCountdown(d time.Duration, end func()) *countdown {
	return &countdown{timer: time.AfterFunc(d, end), remaining: d, resumed: time.Now()}
}

func (c *countdown) pause() {
	c.timer.Stop()
	c.remaining -= time.Since(c.resumed)
}

// resume goes on; if nothing remains, the function is called at once.
func (c *countdown) resume() {
	c.resumed = time.Now()
	c.timer.Reset(c.remaining)
}

// firstPiece is how many bytes of a file without a length are read before more memory is asked for; every later piece
// is as large as all before it.
const firstPiece = 64 << 10

// read reads a file piece by piece. One whose length is said is one piece.
func (f *fetcher) read(response *http.Response, hold func(bytes int64) error) ([]byte, error) {
	var file bytes.Buffer
	piece := int64(firstPiece)
	if response.ContentLength >= 0 {
		piece = response.ContentLength
	}
	for {
		if err := hold(piece); err != nil {
			return nil, err
		}
		file.Grow(int(piece) + bytes.MinRead)
		_, err := io.CopyN(&file, response.Body, piece)
		if file.Len() > f.most {
			return nil, tooManyBytes(f.most)
		}
		if err == io.EOF || err == nil && int64(file.Len()) == response.ContentLength {
			return file.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		piece = int64(min(file.Len(), f.most+1-file.Len()))
	}
}

// errSlow ends a fetch that takes too long.
var errSlow = errors.New("the image's server is slow")

// failed words an error. ctx is that of the request, fetching that of the fetch.
func (f *fetcher) failed(ctx, fetching context.Context, err error) error {
	var known *fault.Error
	var slow net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case errors.Is(err, errForbidden):
		return fault.Wrap(fault.Invalid, err, "the image's URL leads to an address that images are not fetched from")
	case context.Cause(fetching) == errSlow, errors.As(err, &slow) && slow.Timeout():
		return fault.Wrap(fault.Invalid, err, "the image could not be fetched within %s", f.within)
	}
	return fault.Wrap(fault.Invalid, err, "the image could not be fetched")
}

func tooManyBytes(most int) error {
	return fault.New(fault.Invalid, "the image is larger than %d bytes", most)
}
