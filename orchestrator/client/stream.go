package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxEvent bounds one event of a stream, in bytes: its last one is a whole answer.
const maxEvent = 64 << 20

// ErrCut is a stream that ended before its answer was there.
var ErrCut = errors.New("the stream ended before its answer")

// Stream sends body to a path that answers with server-sent events and gives the data of each to heard. An event that
// says that the request failed ends it with a [*Refusal]; heard ends it with any error of its own.
func (s *Service) Stream(ctx context.Context, path string, body any, heard func(data []byte) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := retried(s, ctx, func() (*http.Response, error) { return s.once(ctx, http.MethodPost, path, text) })
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData || data == "[DONE]" {
			continue
		}
		var failure struct {
			Detail json.RawMessage `json:"detail"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal([]byte(data), &failure) == nil && (detail(failure.Detail) != "" || detail(failure.Error) != "") {
			return &Refusal{Status: http.StatusInternalServerError, Message: worded(http.StatusInternalServerError, []byte(data))}
		}
		if err := heard([]byte(data)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case lines.Err() != nil:
		return &UnreachableError{URL: s.URL, Err: fmt.Errorf("%w: %w", ErrCut, lines.Err())}
	}
	return nil
}
