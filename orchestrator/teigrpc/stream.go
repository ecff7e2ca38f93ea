package teigrpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
)

// parallel is the most messages of a stream that are answered at once.
const parallel = 16

// wrapStream bounds the time of a stream.
func (s *Server) wrapStream(
	server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler,
) error {
	ctx, cancel := context.WithTimeout(stream.Context(), s.options.Timeout)
	defer cancel()
	return recovered(func() error { return handle(server, &boundedStream{stream, ctx}) })
}

// boundedStream is a stream with another context.
type boundedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *boundedStream) Context() context.Context { return s.ctx }

// result is the answer to a message.
type result[Res any] struct {
	answer *Res
	err    error
}

// answerAll answers the messages of a stream in order, parallel of them at once. It ends with the first failure.
func answerAll[Req, Res any](
	ctx context.Context, receive func() (*Req, error), send func(*Res) error,
	answer func(context.Context, *Req) (*Res, error),
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pending := make(chan chan result[Res], parallel)
	go func() {
		defer close(pending)
		for {
			message, err := receive()
			if errors.Is(err, io.EOF) {
				return
			}
			done := make(chan result[Res], 1)
			select {
			case pending <- done:
			case <-ctx.Done():
				return
			}
			if err != nil {
				done <- result[Res]{err: err}
				return
			}
			go func() {
				var r result[Res]
				r.err = recovered(func() (err error) {
					r.answer, err = answer(ctx, message)
					return err
				})
				done <- r
			}()
		}
	}()
	for {
		select {
		case done, more := <-pending:
			if !more {
				return contextOr(ctx, nil)
			}
			if err := sendResult(ctx, done, send); err != nil {
				return err
			}
		case <-ctx.Done():
			return contextOr(ctx, nil)
		}
	}
}

// sendResult waits for an answer and sends it.
func sendResult[Res any](ctx context.Context, done <-chan result[Res], send func(*Res) error) error {
	select {
	case r := <-done:
		if r.err != nil {
			return r.err
		}
		return send(r.answer)
	case <-ctx.Done():
		return contextOr(ctx, nil)
	}
}

// answerStream answers a stream of messages with a stream of answers.
func answerStream[Req, Res any](
	stream grpc.BidiStreamingServer[Req, Res], answer func(context.Context, *Req) (*Res, error),
) error {
	return answerAll(stream.Context(), stream.Recv, stream.Send, answer)
}
