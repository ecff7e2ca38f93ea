// Package client calls the APIs of a running gateway over HTTP, for the command line.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tmaxmax/go-sse"

	"retort/orchestrator/provenance"
)

// Service calls a gateway. It may be used by several goroutines.
type Service struct {
	URL  string // of the main port
	Key  string // "" for none
	HTTP *http.Client
	// Attempts is how often a request is sent at most, at least once. A request is retried if the gateway is overloaded
	// or does not answer: after the pause of Retry-After, at most a minute, or with exponential backoff from 250 ms to
	// 10 s.
	Attempts uint
	// OnRetry, if not nil, is called before the pause of each retry.
	OnRetry func(reason error, pause time.Duration)
	// OnAnswer, if not nil, is called with each answer to Post and Stream, which then ask for manifests. Its error
	// fails the request.
	OnAnswer func(answer []byte) error
}

const (
	maxAnswer  = 64 << 20 // bytes of an answer
	maxEvent   = 64 << 20 // bytes of an event of a stream; the last one can be a whole answer
	maxRefusal = 1 << 20  // bytes of an answer other than 200
)

// Refusal is the error of a request that an API rejects.
type Refusal struct {
	Status  int
	Message string // in the words of the API
}

func (r *Refusal) Error() string { return r.Message }

// IsDataError reports whether the API rejects the data of the request, so that other data may succeed.
func (r *Refusal) IsDataError() bool {
	switch r.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

// UnreachableError means that a service did not answer, or was overloaded, in all attempts.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("%s does not answer: %v", e.URL, e.Err) }

func (e *UnreachableError) Unwrap() error { return e.Err }

// ErrIncomplete means that a stream ended before its answer.
var ErrIncomplete = errors.New("the stream ended before its answer")

// Get requests a path of the main port, such as /embedding/v1/models, and decodes the answer.
func (s *Service) Get(ctx context.Context, path string, into any) error {
	return s.call(ctx, http.MethodGet, path, nil, into)
}

// Post sends body as JSON to a path of the main port, such as /latent/embedding, and decodes the answer. It retries:
// all use cases of the APIs are idempotent.
func (s *Service) Post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, path, text, into)
}

func (s *Service) call(ctx context.Context, method, path string, body []byte, into any) error {
	text, err := retry(ctx, s, func() ([]byte, error) { return s.receive(ctx, method, path, body) })
	if err != nil {
		return err
	}
	if method == http.MethodPost && s.OnAnswer != nil {
		if err := s.OnAnswer(text); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: unexpected answer: %w", path, err)
	}
	return nil
}

// Stream sends body to a path that answers with server-sent events and calls onEvent with the data of each. It returns
// the first error of onEvent, or a [*Refusal] if an event reports that the request failed.
func (s *Service) Stream(ctx context.Context, path string, body any, onEvent func(data []byte) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := retry(ctx, s, func() (*http.Response, error) { return s.send(ctx, http.MethodPost, path, text) })
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var last []byte
	hasAnswer := false
	for event, err := range sse.Read(answer.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil && ctx.Err() == nil {
			return &UnreachableError{URL: s.URL, Err: fmt.Errorf("%w: %w", ErrIncomplete, err)}
		}
		if err != nil || event.Data == "[DONE]" {
			continue
		}
		data := []byte(event.Data)
		if isFailure(data) {
			const status = http.StatusInternalServerError
			return &Refusal{Status: status, Message: failureMessage(status, data)}
		}
		last = data
		if s.OnAnswer != nil && hasManifest(data) {
			hasAnswer = true
			if err := s.OnAnswer(data); err != nil {
				return err
			}
		}
		if err := onEvent(data); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.OnAnswer != nil && !hasAnswer {
		return s.OnAnswer(last) // which says that it has no manifest
	}
	return nil
}

// hasManifest reports whether an event of a stream is the answer, with its manifest.
func hasManifest(event []byte) bool {
	var answer struct {
		Manifest json.RawMessage `json:"manifest"`
	}
	return json.Unmarshal(event, &answer) == nil && answer.Manifest != nil
}

// retry calls do until it succeeds or is refused, ctx ends, or all attempts are used up.
func retry[T any](ctx context.Context, s *Service, do backoff.Operation[T]) (T, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 250 * time.Millisecond
	pauses.MaxInterval = 10 * time.Second
	var last error // of the last attempt
	value, err := backoff.Retry(ctx, func() (T, error) {
		value, err := do()
		last = err
		var busy *busyError
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
			return value, backoff.Permanent(err)
		case err != nil && ctx.Err() != nil:
			return value, backoff.Permanent(context.Cause(ctx))
		case errors.As(err, &busy) && busy.pause > 0:
			return value, &backoff.RetryAfterError{Duration: min(busy.pause, time.Minute)}
		}
		return value, err
	},
		backoff.WithBackOff(pauses), backoff.WithMaxTries(max(1, s.Attempts)), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(_ error, pause time.Duration) {
			if s.OnRetry != nil {
				s.OnRetry(last, pause)
			}
		}))
	var refusal *Refusal
	if err == nil || ctx.Err() != nil || errors.As(err, &refusal) {
		return value, err
	}
	return value, &UnreachableError{URL: s.URL, Err: last}
}

// busyError means that the gateway is overloaded.
type busyError struct {
	message string
	pause   time.Duration // of Retry-After; 0 for none
}

func (e *busyError) Error() string { return e.message }

// receive sends one request and reads the answer.
func (s *Service) receive(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	answer, err := s.send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
}

// send sends one request and returns an answer with status 200 or 202. Any other status is a *Refusal or a *busyError.
func (s *Service) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(s.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.OnAnswer != nil && method == http.MethodPost {
		request.Header.Set(provenance.Header, "true")
	}
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	answer, err := s.HTTP.Do(request)
	if err != nil || answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusAccepted {
		return answer, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err != nil {
		return nil, err
	}
	message := failureMessage(answer.StatusCode, text)
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return nil, &busyError{message: message, pause: time.Duration(max(0, seconds)) * time.Second}
	}
	return nil, &Refusal{Status: answer.StatusCode, Message: message}
}
