package triton

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	pb "retort/orchestrator/triton/inferencepb"
)

// Stream returns the responses to one request, of a decoupled model or any other. It returns when the first response
// has come, so that the caller can still report an earlier error as a status. A later error ends the sequence with the
// pair (nil, error). A sequence without an error is complete: the server has marked a response as the final one.
//
// The sequence can be read once. If the caller leaves it early or ctx ends, the request ends on the server within
// three seconds (see stream.hangUp). A caller that does not read the sequence must cancel ctx.
func (c *Client) Stream(ctx context.Context, r *Request) (iter.Seq2[*Response, error], error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	if m.Parameters == nil {
		m.Parameters = make(map[string]*pb.InferParameter, 1)
	}
	m.Parameters[emptyFinal] = &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}

	ctx, end := c.startSpan(ctx, "stream", r.Model)
	s, first, err := c.openStream(ctx, m, r.Once)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, end(err)
	}
	telemetry.FromContext(ctx).AddModelRows(r.Model, 1)
	var state atomic.Int32 // stateUnread, then one of the others
	stop := context.AfterFunc(ctx, func() {
		if state.CompareAndSwap(stateUnread, stateAbandoned) {
			s.leave()
			_ = end(fault.As(ctx.Err()))
		}
	})
	return func(yield func(*Response, error) bool) {
		if !state.CompareAndSwap(stateUnread, stateRead) {
			if state.Load() == stateAbandoned {
				yield(nil, fault.As(ctx.Err()))
			}
			return
		}
		stop()
		if err = s.drain(first, err, yield); errors.Is(err, io.EOF) {
			_ = end(nil)
		} else {
			_ = end(err)
		}
	}, nil
}

// The states of a sequence. It is abandoned if the context ends before the sequence is read.
const (
	stateUnread = iota
	stateRead
	stateAbandoned
)

// openStream starts a stream and returns its first response. It tries a second replica unless once is set.
func (c *Client) openStream(ctx context.Context, m *pb.ModelInferRequest, once bool) (*stream, *Response, error) {
	spec := callSpec{name: "stream", model: m.ModelName, inference: true}
	replica := c.pool.pick(spec, nil)
	if replica == nil {
		return nil, nil, errNoReplica()
	}
	s := c.newStream(ctx, replica)
	first, err := s.start(m, once)
	if !once && shouldRetry(ctx, err) {
		if other := c.pool.pick(spec, replica); other != nil {
			s = c.newStream(ctx, other)
			first, err = s.start(m, once)
		}
	}
	return s, first, err
}

// stream is one call of ModelStreamInfer with one request. Requests do not share a call, since cancelling a call
// cancels all its requests. The call may outlive the caller's context: see hangUp.
type stream struct {
	client   *Client // nil for a model probe
	replica  *Replica
	request  *telemetry.Request // counts the time spent waiting
	caller   context.Context
	ctx      context.Context // of the call
	cancel   context.CancelFunc
	messages chan message // ends with the error that ended the call
	leaving  sync.Once
}

// message is a response or the error that ended the call.
type message struct {
	response *pb.ModelStreamInferResponse
	err      error
}

// newStream returns a stream that counts as in flight until its call ends, whether it is read or not.
func (c *Client) newStream(ctx context.Context, r *Replica) *stream {
	s := newStream(ctx, r)
	s.client = c
	r.inflight.Add(1)
	context.AfterFunc(s.ctx, func() { r.inflight.Add(-1) })
	return s
}

// newStream returns a stream for a model probe, which does not count as in flight.
func newStream(ctx context.Context, r *Replica) *stream {
	s := &stream{replica: r, request: telemetry.FromContext(ctx), caller: ctx, messages: make(chan message)}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// start sends the request, returns the first response, and records the result for the health of the model. On any
// error, including io.EOF for a request without responses, the stream is over for its caller.
func (s *stream) start(m *pb.ModelInferRequest, once bool) (*Response, error) {
	sent := time.Now()
	go s.run(m)
	first, err := s.receive()
	s.request.AddTriton(time.Since(sent))
	result := err
	if errors.Is(err, io.EOF) {
		result = nil
	}
	if s.replica.recordResult(m.ModelName, once, result) {
		s.client.pool.requestProbe()
	}
	return first, err
}

// run makes the call and passes on its messages.
func (s *stream) run(m *pb.ModelInferRequest) {
	defer close(s.messages)
	defer s.cancel()
	call, err := s.replica.service.ModelStreamInfer(s.ctx)
	if err == nil {
		if err = call.Send(m); err == nil {
			err = call.CloseSend()
		}
		if errors.Is(err, io.EOF) {
			err = nil // Recv returns the reason.
		}
	}
	for {
		var response *pb.ModelStreamInferResponse
		if err == nil {
			response, err = call.Recv()
		}
		select {
		case s.messages <- message{response, err}:
		case <-s.ctx.Done(): // hangUp has ended
			return
		}
		if err != nil {
			return
		}
	}
}

// receive returns the next response with outputs, or the error that ended the stream: io.EOF after the final response.
func (s *stream) receive() (*Response, error) {
	for {
		var m message
		select {
		case m = <-s.messages:
		case <-s.caller.Done():
			s.leave()
			if errors.Is(s.caller.Err(), context.Canceled) {
				// The client is gone, so nobody waits for this. Keep the request's resources until the server has
				// released it.
				<-s.ctx.Done()
			}
			return nil, fault.As(s.caller.Err())
		}
		switch {
		case m.err != nil:
			return nil, s.translateEnd(m.err)
		case m.response.ErrorMessage != "":
			s.leave()
			return nil, streamFault(m.response.ErrorMessage)
		case m.response.InferResponse == nil:
			continue
		}
		r, err := responseFrom(m.response.InferResponse)
		if err != nil {
			s.leave()
			return nil, err
		}
		if len(r.Outputs) > 0 {
			return r, nil
		}
		if r.final {
			return nil, s.finish()
		}
	}
}

// finish waits until the server has closed the call after the final response, which it does at once since the client
// has closed its side. It returns io.EOF.
func (s *stream) finish() error {
	s.leave()
	<-s.ctx.Done()
	return io.EOF
}

// errTruncated is the error of a call that the server closed without an error, but before the final response.
var errTruncated = status.Error(codes.Unavailable, "the stream ended before its final response")

// translateEnd translates the error that ended the call before its final response.
func (s *stream) translateEnd(err error) error {
	if errors.Is(err, io.EOF) {
		err = errTruncated
	}
	if status.Code(err) == codes.Unavailable {
		s.client.pool.requestProbe()
	}
	return translate(s.caller, err)
}

// drain yields the first response and those that follow. It returns the error that ended the sequence, io.EOF if it is
// complete or the caller left it.
func (s *stream) drain(r *Response, err error, yield func(*Response, error) bool) error {
	for err == nil {
		switch {
		case !yield(r, nil):
			s.leave()
			return io.EOF
		case r.final:
			return s.finish()
		}
		start := time.Now()
		r, err = s.receive()
		s.request.AddTriton(time.Since(start))
	}
	if !errors.Is(err, io.EOF) {
		yield(nil, err)
	}
	return err
}
