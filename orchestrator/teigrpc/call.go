package teigrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
	"retort/orchestrator/teigrpc/teipb"
)

// service makes the calls of all services.
type service struct {
	options Options
	limit   int // bytes of a message
}

// Caller makes the call of a message to a gateway.
type Caller func(ctx context.Context, c Call) Answer

// Send sends body as JSON, or a GET if it is nil, to an endpoint of the API, with the id of the message. The error is a
// status: the message's context ended before the answer, or body cannot be encoded.
func (c Caller) Send(ctx context.Context, path string, body any) (Answer, error) {
	call := Call{Path: path}
	if incoming, ok := metadata.FromIncomingContext(ctx); ok {
		call.ID = first(incoming, "x-request-id")
	}
	if body != nil {
		var err error
		if call.Body, err = encode(body); err != nil {
			return Answer{}, status.Error(codes.Internal, "the request could not be encoded")
		}
	}
	answer := c(ctx, call)
	if answer.Status != http.StatusOK {
		return answer, contextOr(ctx, nil)
	}
	return answer, nil
}

// call sends body to an endpoint of the API and decodes its answer. texts are those of the message.
func (s *service) call(ctx context.Context, path string, body, answer any, texts ...string) (*teipb.Metadata, error) {
	start := time.Now()
	got, err := s.options.Call.Send(ctx, path, body)
	if err != nil {
		return nil, err
	}
	if got.Status != http.StatusOK {
		return nil, failure(got)
	}
	if err := json.Unmarshal(got.Body, answer); err != nil {
		return nil, status.Error(codes.Internal, "the answer could not be decoded")
	}
	characters := 0
	for _, text := range texts {
		characters += utf8.RuneCountInString(text)
	}
	return &teipb.Metadata{
		ComputeChars:    uint32(characters),
		ComputeTokens:   uint32(got.Tokens),
		TotalTimeNs:     uint64(time.Since(start)),
		QueueTimeNs:     uint64(got.Queued),
		InferenceTimeNs: uint64(got.Triton),
	}, nil
}

// encode returns body in JSON. Characters of HTML are not escaped, which would make them six times as long.
func encode(body any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return text.Bytes(), err
}

// acquire takes memory for a message, until release is called. Small messages need none.
func (s *service) acquire(ctx context.Context, message any) (release func(), err error) {
	m, _ := message.(proto.Message)
	size := proto.Size(m)
	if size <= memory.SmallBody {
		return func() {}, nil
	}
	if release, err = s.options.Memory.Acquire(ctx, memory.BodyWeight*int64(size)); err != nil {
		return func() {}, contextOr(ctx, status.Error(codes.ResourceExhausted, fault.As(err).Message))
	}
	return release, nil
}

// contextOr returns the status of a context that has ended, or err.
func contextOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return err
}

// failure returns the status of an answer that is a failure. Bodies are those of text-embeddings-inference's HTTP
// endpoints.
func failure(got Answer) error {
	var body struct {
		Error string `json:"error"`
		Type  string `json:"error_type"`
	}
	if json.Unmarshal(got.Body, &body) != nil || body.Error == "" {
		body.Error = http.StatusText(got.Status)
	}
	return status.Error(codeOf(got.Status, body.Type), body.Error)
}

// codeOf returns the code that text-embeddings-inference gives an error_type, but for failures that it does not have.
func codeOf(httpStatus int, errorType string) codes.Code {
	switch {
	case httpStatus == http.StatusGatewayTimeout:
		return codes.DeadlineExceeded
	case httpStatus == http.StatusInternalServerError:
		return codes.Internal
	case errorType == "Unhealthy":
		return codes.Unavailable
	case errorType == "Overloaded":
		return codes.ResourceExhausted
	case errorType == "Validation", errorType == "Empty":
		return codes.InvalidArgument
	case errorType == "Backend", errorType == "Tokenizer":
		return codes.FailedPrecondition
	case httpStatus == http.StatusNotFound:
		return codes.Unimplemented
	}
	return codes.Unknown
}

// requireService returns an error if the API does not answer a service, as a server of text-embeddings-inference whose
// model is of another type.
func (s *service) requireService(description grpc.ServiceDesc, modelType string) error {
	if s.options.Serves[description.ServiceName] {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "model is not %s model", modelType)
}

// interceptUnary bounds the memory of a request and answers a panic with the code INTERNAL.
func (s *service) interceptUnary(
	ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (answer any, err error) {
	release, err := s.acquire(ctx, req)
	if err != nil {
		return nil, err
	}
	defer release()
	err = recovered(func() (err error) {
		answer, err = handle(ctx, req)
		return err
	})
	return answer, err
}

// recovered calls f and turns a panic into a status.
func recovered(f func() error) error {
	err := fault.WithRecover(f)()
	if _, isFault := errors.AsType[*fault.Error](err); isFault {
		return status.Error(codes.Internal, "internal error")
	}
	return err
}
