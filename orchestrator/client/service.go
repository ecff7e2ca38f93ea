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
)

// Service asks the APIs of a running gateway. Any number of goroutines may use it.
type Service struct {
	URL  string // of the main port
	Key  string // "" for none
	HTTP *http.Client
	// Attempts is how often a request is made that the gateway has no room for, or that does not reach it; 0 means 8. It
	// is made again after what Retry-After says, at most a minute, or else after a pause that grows from a quarter of a
	// second to ten.
	Attempts uint
	// Waiting is told why a request is made again, and when; nil for nobody.
	Waiting func(why error, pause time.Duration)
}

// Refusal is an answer that says what is wrong with a request, in the words of the API.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Row reports whether the refusal is about what was sent, so that another row may be answered.
func (r *Refusal) Row() bool {
	switch r.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

// UnreachableError says that a service does not answer, or has no room for a request, after all attempts.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("%s does not answer: %v", e.URL, e.Err) }

func (e *UnreachableError) Unwrap() error { return e.Err }

// Get asks for what path names, such as /embedding/v1/models, and decodes the answer.
func (s *Service) Get(ctx context.Context, path string, into any) error {
	return s.whole(ctx, http.MethodGet, path, nil, into)
}

// Post sends body as JSON to a path of the main port, such as /latent/embedding, and decodes the answer. Every use case
// of the APIs may be asked twice, so that a request is made again when its answer does not come.
func (s *Service) Post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.whole(ctx, http.MethodPost, path, text, into)
}

// whole reads an answer that comes in one piece.
func (s *Service) whole(ctx context.Context, method, path string, body []byte, into any) error {
	text, err := retried(s, ctx, func() ([]byte, error) {
		answer, err := s.once(ctx, method, path, body)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		return io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: the answer is not that of the API: %w", path, err)
	}
	return nil
}

// retried does work until it succeeds, is refused for good, or has been tried often enough.
func retried[T any](s *Service, ctx context.Context, work backoff.Operation[T]) (T, error) {
	attempts := s.Attempts
	if attempts == 0 {
		attempts = 8
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 250 * time.Millisecond
	pauses.MaxInterval = 10 * time.Second
	var last error
	done, err := backoff.Retry(ctx, func() (T, error) {
		done, err := work()
		var full *fullError
		var permanent *backoff.PermanentError
		switch {
		case err == nil:
			return done, nil
		case errors.As(err, &full):
			last = full
			if full.pause > 0 {
				return done, &backoff.RetryAfterError{Duration: min(full.pause, time.Minute)}
			}
			return done, full
		case ctx.Err() != nil && !errors.As(err, &permanent):
			return done, backoff.Permanent(context.Cause(ctx))
		case !errors.As(err, &permanent):
			last = err
		}
		return done, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(attempts), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(_ error, pause time.Duration) {
		if s.Waiting != nil {
			s.Waiting(last, pause)
		}
	}))
	var refusal *Refusal
	if err == nil || ctx.Err() != nil || errors.As(err, &refusal) {
		return done, err
	}
	if last == nil {
		last = err
	}
	return done, &UnreachableError{URL: s.URL, Err: last}
}

// fullError says that the gateway has no room, or is not ready.
type fullError struct {
	message string
	pause   time.Duration // that it asks for; 0 for none
}

func (e *fullError) Error() string { return e.message }

// once makes a request. Its answer has status 200; any other is a permanent error or one of fullError.
func (s *Service) once(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(s.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	answer, err := s.HTTP.Do(request)
	if err != nil || answer.StatusCode == http.StatusOK {
		return answer, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	message := worded(answer.StatusCode, text)
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return nil, &fullError{message: message, pause: time.Duration(max(0, seconds)) * time.Second}
	}
	return nil, backoff.Permanent(&Refusal{Status: answer.StatusCode, Message: message})
}
