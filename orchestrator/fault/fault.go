// Package fault holds the kinds of failure that cross the rooms of the orchestrator. A fault has no status code and no
// wording of a published API: each API renders it.
package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind says what a caller can do about a failure.
type Kind uint8

const (
	// Internal is a defect of this program or of a model. It is logged, not shown.
	Internal Kind = iota
	// Invalid is a request that fails however often it is sent.
	Invalid
	// Rejected is a request of this program that the inference server refused, because the model differs from its entry
	// or the code is wrong. Like Internal it is logged, not shown, unless a room knows that a value of the client's
	// caused it.
	Rejected
	// TooLarge is a body above the size limit of its API.
	TooLarge
	// NotFound is a request for something that does not exist; Error.Subject is its kind.
	NotFound
	// Method is a request for a known route with the wrong HTTP method.
	Method
	// Unauthorized is a missing or unknown key.
	Unauthorized
	// TooMany is a quota that one client, or all clients together, have used up, whatever the load; RetryAfter says
	// when to retry.
	TooMany
	// Overloaded is load beyond capacity; RetryAfter says when to retry.
	Overloaded
	// Unavailable is a model or a Triton that cannot be reached, or not yet.
	Unavailable
	// Timeout is a deadline that has passed.
	Timeout
	// Canceled is a client that has left.
	Canceled
)

var kindNames = [...]string{
	"internal", "invalid", "rejected", "too large", "not found", "method", "unauthorized",
	"too many", "overloaded", "unavailable", "timeout", "canceled",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Subject is the kind of thing that a NotFound is about: some APIs have an error code for each.
type Subject string

// The subjects.
const (
	Route  Subject = "route"
	Model  Subject = "model"
	File   Subject = "file"
	Batch  Subject = "batch"
	Job    Subject = "job"
	Result Subject = "result" // of a job
	Cursor Subject = "cursor" // the item after which a page of a list starts
	// Response is a stored response of the chat API. An Invalid request to continue one that does not exist has this
	// subject too.
	Response Subject = "response"
)

// Error is one failure. The zero Kind is Internal.
type Error struct {
	Kind    Kind
	Subject Subject // of a NotFound; of an Invalid for Response
	// Message is for the client, except for an Internal error: then it is for the log, and the answer has another text.
	Message string
	// Path locates an Invalid field in the request body by names and indexes from the outside in, such as {"passages",
	// 3, "text"}.
	Path []any
	// Rule is the rule that Path breaks, as one of pydantic's error types ("missing", "string_type", "less_than_equal",
	// …), which the published services answer with.
	Rule string
	// Input is the offending value as the client sent it, or nil.
	Input any
	// Limits are the bounds that the rule states, such as {"le": 1000}.
	Limits map[string]any
	// RetryAfter is a hint for TooMany, Overloaded and Unavailable.
	RetryAfter time.Duration
	// Err is the cause, for the log.
	Err error

	more []*Error // see Join
}

func (e *Error) Error() string {
	var b strings.Builder
	if field := e.Field(); field != "" {
		b.WriteString(field)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Field formats Path, such as passages[3].text.
func (e *Error) Field() string {
	var b strings.Builder
	for _, step := range e.Path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, s)
		}
	}
	return b.String()
}

// Under returns a copy of e with steps before its path, so that a validator of one row need not know the index of the
// row.
func (e *Error) Under(steps ...any) *Error {
	moved := *e
	moved.Path = slices.Concat(steps, e.Path)
	return &moved
}

// New returns an error of a kind.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Missing returns a NotFound about a subject.
func Missing(subject Subject, format string, args ...any) *Error {
	return &Error{Kind: NotFound, Subject: subject, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of a kind with its cause.
func Wrap(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: err}
}

// Field returns an Invalid error about one field.
func Field(rule string, input any, path []any, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Rule: rule, Input: input, Path: path, Message: fmt.Sprintf(format, args...)}
}

// As returns err as an *Error. The error of a context becomes Canceled or Timeout, and any other error Internal.
// As(nil) is nil.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Timeout, Message: "the request took longer than its time limit", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Kind: Canceled, Message: "the request was canceled", Err: err}
	default:
		return &Error{Kind: Internal, Message: "internal error", Err: err}
	}
}

// KindOf returns the kind of As(err). The kind of nil is Internal, since only a defect asks for it.
func KindOf(err error) Kind {
	if err == nil {
		return Internal
	}
	return As(err).Kind
}

// WithRecover wraps f so that a panic becomes an Internal error with the stack. Goroutines that a request starts need
// it: the gateway recovers only the panics of its handlers, errgroup none, and any other ends the process.
func WithRecover(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = Wrap(Internal, errors.New(string(debug.Stack())), "panic: %v", p)
			}
		}()
		return f()
	}
}
