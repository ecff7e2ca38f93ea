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

// fetcher fetches image files over HTTP. It forwards nothing of the client's request and uses only the body of the
// response.
type fetcher struct {
	client   *http.Client
	maxBytes int
	timeout  time.Duration
}

func newFetcher(c Config) *fetcher {
	dialer := &net.Dialer{Timeout: c.FetchTimeout, ControlContext: guard{c.FetchAllow}.check}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy would resolve names where the guard cannot check
		DialContext:            dialer.DialContext,
		DisableCompression:     true, // images are compressed already, and a decompression bomb stays small
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           16,
		MaxConnsPerHost:        16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &fetcher{
		client:   &http.Client{Transport: transport, CheckRedirect: limitRedirects(c.FetchHops)},
		maxBytes: c.MaxBytes,
		timeout:  c.FetchTimeout,
	}
}

func limitRedirects(limit int) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if len(via) > limit {
			return fault.New(fault.Invalid, "the image's URL is redirected more than %d times", limit)
		}
		next.Header.Del("Referer")
		return checkURL(next.URL)
	}
}

// checkURL refuses URLs by their text; the guard checks addresses.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fault.New(fault.Invalid, "images are accepted as data, http and https URLs, not %q", u.Scheme)
	case u.Hostname() == "":
		return fault.New(fault.Invalid, "the image's URL has no host")
	case u.User != nil:
		return fault.New(fault.Invalid, "an image's URL must not contain a user name or password")
	}
	return nil
}

// fetch returns the file at u. It calls reserve before it allocates memory for bytes. Errors are Invalid faults that
// reveal nothing about networks that the client cannot reach, or errors of reserve.
func (f *fetcher) fetch(ctx context.Context, u *url.URL, reserve func(bytes int64) error) ([]byte, error) {
	fetching, end := context.WithCancelCause(ctx)
	defer end(nil)
	clock := startCountdown(f.timeout, func() { end(errSlow) })
	defer clock.pause()
	reservePaused := func(bytes int64) error { // waiting for memory does not count as the server's time
		clock.pause()
		defer clock.resume()
		return reserve(bytes)
	}
	request, err := http.NewRequestWithContext(fetching, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the image's URL is not valid")
	}
	request.Header.Set("Accept", "image/png, image/jpeg, image/webp, image/gif")
	request.Header.Set("User-Agent", "retort")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, f.toFault(ctx, fetching, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fault.New(fault.Invalid, "the image could not be fetched: its server answered %d", response.StatusCode)
	}
	if response.ContentLength > int64(f.maxBytes) {
		return nil, tooManyBytes(f.maxBytes)
	}
	file, err := f.read(response, reservePaused)
	if err != nil {
		return nil, f.toFault(ctx, fetching, err)
	}
	return file, nil
}

// countdown calls a function after a duration, not counting pauses. It is not safe for concurrent use.
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

// resume continues the countdown. If no time remains, it calls the function at once.
func (c *countdown) resume() {
	c.resumed = time.Now()
	c.timer.Reset(c.remaining)
}

// firstPiece is the size in bytes of the first piece of a file of unknown length. Each later piece doubles the total.
const firstPiece = 64 << 10

// read reads a file in pieces. A file of known length is one piece.
func (f *fetcher) read(response *http.Response, reserve func(bytes int64) error) ([]byte, error) {
	var file bytes.Buffer
	piece := int64(firstPiece)
	if response.ContentLength >= 0 {
		piece = response.ContentLength
	}
	for {
		if err := reserve(piece); err != nil {
			return nil, err
		}
		file.Grow(int(piece) + bytes.MinRead)
		_, err := io.CopyN(&file, response.Body, piece)
		if file.Len() > f.maxBytes {
			return nil, tooManyBytes(f.maxBytes)
		}
		if err == io.EOF || err == nil && int64(file.Len()) == response.ContentLength {
			return file.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		piece = int64(min(file.Len(), f.maxBytes+1-file.Len()))
	}
}

// errSlow ends a fetch that takes too long.
var errSlow = errors.New("the image's server is slow")

// toFault converts an error of a fetch. ctx is the context of the request, fetching that of the fetch.
func (f *fetcher) toFault(ctx, fetching context.Context, err error) error {
	var known *fault.Error
	var slow net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case errors.Is(err, errForbidden):
		return fault.Wrap(fault.Invalid, err, "the image's URL leads to an address that is not allowed")
	case context.Cause(fetching) == errSlow, errors.As(err, &slow) && slow.Timeout():
		return fault.Wrap(fault.Invalid, err, "the image could not be fetched within %s", f.timeout)
	}
	return fault.Wrap(fault.Invalid, err, "the image could not be fetched")
}

func tooManyBytes(limit int) error {
	return fault.New(fault.Invalid, "the image is larger than %d bytes", limit)
}
