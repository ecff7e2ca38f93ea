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

// Stream returns the responses to one request of a decoupled model (or the one of any other). It returns when the first
// response is there, so an error that comes before it is Stream's own and may be answered with a status. Later ones end
// the sequence: its last pair is then (nil, error). A sequence without an error is complete: the server has marked a
// response as the final one.
//
// The sequence can be read once. Leaving it early, or the end of ctx, ends the request on the server too, within a second
// or two (see stream.hangUp); a caller that does not read it must end ctx.
func (c *Client) Stream(ctx context.Context, r *Request) (iter.Seq2[*Response, error], error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	if m.Parameters == nil {
		m.Parameters = make(map[string]*pb.InferParameter, 1)
	}
	m.Parameters[emptyFinal] = &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}

	ctx, end := c.begin(ctx, "stream", r.Model)
	s, first, err := c.open(ctx, m, r.Once)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, end(err)
	}
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

// The states of a sequence. It is abandoned when the context ends before anyone reads it.
const (
	stateUnread = iota
	stateRead
	stateAbandoned
)

// open starts a stream on a replica that gives a first response, trying two unless once is set.
func (c *Client) open(ctx context.Context, m *pb.ModelInferRequest, once bool) (*stream, *Response, error) {
	q := question{name: "stream", model: m.ModelName, inference: true}
	replica := c.pool.pick(q, nil)
	if replica == nil {
		return nil, nil, errNoReplica()
	}
	s := c.stream(ctx, replica)
	first, err := s.begin(m, once)
	if !once && elsewhere(ctx, err) {
		if other := c.pool.pick(q, replica); other != nil {
			s = c.stream(ctx, other)
			first, err = s.begin(m, once)
		}
	}
	return s, first, err
}

// stream is one call of ModelStreamInfer with one request: cancelling the call cancels every request on it, so requests
// must not share one. The call outlives its caller's context: see hangUp.
type stream struct {
	client  *Client // nil for a probe
	replica *Replica
	request *telemetry.Request // counts the time spent waiting
	caller  context.Context
	ctx     context.Context // of the call
	cancel  context.CancelFunc
	// messages are what the call received, up to and with the error that ended it.
	messages chan message
	leaving  sync.Once
}

// message is a response or the error that ended the call.
type message struct {
	response *pb.ModelStreamInferResponse
	err      error
}

func (c *Client) stream(ctx context.Context, r *Replica) *stream {
	s := newStream(ctx, r)
	s.client = c
	r.inflight.Add(1)
	context.AfterFunc(s.ctx, func() { r.inflight.Add(-1) }) // also when nobody reads the stream
	return s
}

// newStream is a stream of no client, for probes, which do not count as calls in flight.
func newStream(ctx context.Context, r *Replica) *stream {
	s := &stream{replica: r, request: telemetry.FromContext(ctx), caller: ctx, messages: make(chan message)}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// begin is start, from whose result the replica learns.
func (s *stream) begin(m *pb.ModelInferRequest, once bool) (*Response, error) {
	first, err := s.start(m)
	answered := err
	if errors.Is(err, io.EOF) {
		answered = nil // a request without responses
	}
	if s.replica.learn(m.ModelName, once, answered) {
		s.client.pool.suspect()
	}
	return first, err
}

// start sends the request and returns the first response. On any error, io.EOF for a request without responses
// included, the call has ended or was left.
func (s *stream) start(m *pb.ModelInferRequest) (*Response, error) {
	defer s.waited(time.Now())
	go s.run(m)
	return s.receive()
}

func (s *stream) waited(since time.Time) { s.request.AddTriton(time.Since(since)) }

// run makes the call and passes on all that it receives.
func (s *stream) run(m *pb.ModelInferRequest) {
	defer close(s.messages)
	defer s.cancel()
	call, err := s.replica.service.ModelStreamInfer(s.ctx)
	if err == nil {
		if err = call.Send(m); err == nil {
			err = call.CloseSend()
		}
		if errors.Is(err, io.EOF) {
			err = nil // the reason comes from Recv
		}
	}
	for {
		var response *pb.ModelStreamInferResponse
		if err == nil {
			response, err = call.Recv()
		}
		select {
		case s.messages <- message{response, err}:
		case <-s.ctx.Done(): // hung up
			return
		}
		if err != nil {
			return
		}
	}
}

// receive returns the next response that says anything, or the error that ended the stream: io.EOF after the final one.
func (s *stream) receive() (*Response, error) {
	for {
		var m message
		select {
		case m = <-s.messages:
		case <-s.caller.Done():
			s.leave()
			if errors.Is(s.caller.Err(), context.Canceled) {
				// Nobody waits for us: what the request holds is held until the server has let go of it.
				<-s.ctx.Done()
			}
			return nil, fault.As(s.caller.Err())
		}
		switch {
		case m.err != nil:
			return nil, s.ended(m.err)
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

// finish lets the server close the call after the final response, which it does at once since we have closed our side.
func (s *stream) finish() error {
	s.leave()
	<-s.ctx.Done()
	return io.EOF
}

// errCut is the error of a call that the server closed without an error, but before the final response.
var errCut = status.Error(codes.Unavailable, "the stream ended before its final response")

// ended translates the error that ended the call before its final response.
func (s *stream) ended(err error) error {
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	if status.Code(err) == codes.Unavailable {
		s.client.pool.suspect()
	}
	return translate(s.caller, err)
}

// drain yields the first response and what follows. It returns what ended the sequence, io.EOF being its regular end.
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
		s.waited(start)
	}
	if !errors.Is(err, io.EOF) {
		yield(nil, err)
	}
	return err
}
