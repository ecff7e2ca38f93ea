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

// retryAfter is when to come back after a refusal: long enough for a queue to drain or a replica to be probed again.
const retryAfter = time.Second

// codeKinds says what a gRPC code of Triton's means to a caller. Codes that are missing are Internal and keep the
// model's own message.
var codeKinds = map[codes.Code]fault.Kind{
	codes.InvalidArgument:  fault.Rejected,
	codes.NotFound:         fault.NotFound,
	codes.Unavailable:      fault.Unavailable,
	codes.DeadlineExceeded: fault.Timeout,
	// Our own cancellation is recognised by the context. Otherwise Triton gave the request up, as it does when it shuts
	// down.
	codes.Canceled: fault.Unavailable,
}

type text struct {
	part string
	kind fault.Kind
}

// texts are messages of Triton that say more than their code, or that come without one: errors inside a stream are text
// only.
var texts = []text{
	{"Exceeds maximum queue size", fault.Overloaded},
	{"Request timeout expired", fault.Overloaded},
	// The model is in the repository, or was, and no version is loaded.
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

// translate makes a fault of what a call to Triton returned. It is the only place where gRPC's errors are read.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var own *fault.Error
	if errors.As(err, &own) {
		return own // made while the answer was read
	}
	s := status.Convert(err)
	// gRPC may see the deadline an instant before the context does.
	if ended := ctx.Err(); ended != nil {
		return fault.As(ended)
	}
	if s.Code() == codes.DeadlineExceeded {
		return fault.As(context.DeadlineExceeded)
	}
	kind, known := codeKinds[s.Code()]
	if !known {
		kind = fault.Internal
	}
	return newFault(kindOfText(s.Message(), kind), s.Message(), err)
}

// streamFault makes a fault of an error that came inside a stream.
func streamFault(message string) error {
	return newFault(kindOfText(message, fault.Internal), message, nil)
}

func kindOfText(message string, otherwise fault.Kind) fault.Kind {
	if t := known(message); t != nil {
		return t.kind
	}
	return otherwise
}

// newFault words a fault. An Unavailable in the words of gRPC names addresses of our network, which are for the log and
// not for the caller.
func newFault(kind fault.Kind, message string, cause error) error {
	// Triton puts the request's id in front, or says that there is none.
	message = strings.TrimSpace(strings.TrimPrefix(message, "[request id: <id_unknown>] "))
	if deadProcess(message) {
		return &fault.Error{
			Kind:       fault.Unavailable,
			Message:    "the model is not available",
			RetryAfter: retryAfter,
			Err:        errors.New(message),
		}
	}
	f := &fault.Error{Kind: kind, Message: message}
	if kind == fault.NotFound {
		f.Subject = fault.Model // Triton has nothing else that a request names
	}
	if kind == fault.Unavailable && known(message) == nil {
		f.Message = "the inference server is not available"
		f.Err = cause
	}
	if kind == fault.Unavailable || kind == fault.Overloaded {
		f.RetryAfter = retryAfter
	}
	return f
}

// known returns the entry of texts that is in message, or nil.
func known(message string) *text {
	for i := range texts {
		if strings.Contains(message, texts[i].part) {
			return &texts[i]
		}
	}
	return nil
}
