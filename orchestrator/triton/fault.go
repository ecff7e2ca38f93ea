package triton

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
)

// retryAfter is the time after which a refused call may be retried: enough to drain a queue or to probe a replica.
const retryAfter = time.Second

// codeKinds maps gRPC codes of Triton to kinds. Other codes are Internal and keep the model's message.
var codeKinds = map[codes.Code]fault.Kind{
	codes.InvalidArgument:  fault.Rejected,
	codes.NotFound:         fault.NotFound,
	codes.Unavailable:      fault.Unavailable,
	codes.DeadlineExceeded: fault.Timeout,
	// Not cancelled by the caller, which the context shows. Triton cancels requests when it shuts down.
	codes.Canceled: fault.Unavailable,
}

type messageKind struct {
	substring string
	kind      fault.Kind
}

// messageKinds maps messages of Triton to kinds, where a message says more than its code. Errors inside a stream have
// no code.
var messageKinds = []messageKind{
	{"Exceeds maximum queue size", fault.Overloaded},
	{"Request timeout expired", fault.Overloaded},
	// The model has been loaded before, and no version is loaded now.
	{"has no available versions", fault.Unavailable},
	{"is not at ready state", fault.Unavailable},
	{"Server is stopping", fault.Unavailable},
	{"Request for unknown model", fault.NotFound},
	{"trying to send message larger than max", fault.TooLarge},
	{"unexpected inference input", fault.Rejected},
	{"unexpected inference output", fault.Rejected},
	{"unexpected shape for input", fault.Rejected},
	{"input byte size mismatch", fault.Rejected},
	{"but missing required input", fault.Rejected},
	{"inference request batch-size must be", fault.Rejected},
	{"string data for inference input", fault.Rejected},
	{"string elements for inference input", fault.Rejected},
}

// translate turns the error of a call to Triton into a fault.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return f // from reading the answer
	}
	s := status.Convert(err)
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fault.As(ctxErr)
	}
	// gRPC may report the deadline an instant before the context does.
	if s.Code() == codes.DeadlineExceeded {
		return fault.As(context.DeadlineExceeded)
	}
	kind, ok := codeKinds[s.Code()]
	if !ok {
		kind = fault.Internal
	}
	return newFault(kindOfMessage(s.Message(), kind), s.Message(), err)
}

// streamFault turns an error message inside a stream into a fault.
func streamFault(message string) error {
	return newFault(kindOfMessage(message, fault.Internal), message, nil)
}

func kindOfMessage(message string, fallback fault.Kind) fault.Kind {
	if m := findMessage(message); m != nil {
		return m.kind
	}
	return fallback
}

// newFault makes a fault for a message of Triton or gRPC. gRPC's own messages of Unavailable name addresses of our
// network, so they go to the log and not to the caller.
func newFault(kind fault.Kind, message string, cause error) error {
	// Triton's prefix for a request without an id.
	message = strings.TrimSpace(strings.TrimPrefix(message, "[request id: <id_unknown>] "))
	if isDeadProcess(message) {
		return &fault.Error{
			Kind:       fault.Unavailable,
			Message:    "the model is not available",
			RetryAfter: retryAfter,
			Err:        errors.New(message),
		}
	}
	f := &fault.Error{Kind: kind, Message: message}
	if kind == fault.NotFound {
		f.Subject = fault.Model // a request names nothing else
	}
	if kind == fault.Unavailable && findMessage(message) == nil {
		f.Message = "the inference server is not available"
		f.Err = cause
	}
	if kind == fault.Unavailable || kind == fault.Overloaded {
		f.RetryAfter = retryAfter
	}
	return f
}

// findMessage returns the first entry of messageKinds that a message contains, or nil.
func findMessage(message string) *messageKind {
	for i := range messageKinds {
		if strings.Contains(message, messageKinds[i].substring) {
			return &messageKinds[i]
		}
	}
	return nil
}

// Message returns the message of a failed call of Triton, without gRPC's code.
func Message(err error) string { return status.Convert(err).Message() }
