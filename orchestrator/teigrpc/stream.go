package teigrpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
)

// parallel is the most messages of a stream that are answered at once.
const parallel = 16

// recoverStream answers a panic with the code INTERNAL.
func recoverStream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return recovered(func() error { return handle(server, stream) })
}

// result is the answer to a message.
type result[Res any] struct {
	answer *Res
	err    error
}

// answerAll answers the messages of a stream in order, parallel of them at once. It ends with the first failure.
func answerAll[Req, Res any](
	ctx context.Context, s *service, receive func() (*Req, error), send func(*Res) error,
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
			release := func() {}
			if err == nil {
				release, err = s.acquire(ctx, message)
			}
			done := make(chan result[Res], 1)
			select {
			case pending <- done:
			case <-ctx.Done():
				release()
				return
			}
			if err != nil {
				done <- result[Res]{err: err}
				return
			}
			go func() {
				defer release()
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
	s *service, stream grpc.BidiStreamingServer[Req, Res], answer func(context.Context, *Req) (*Res, error),
) error {
	return answerAll(stream.Context(), s, stream.Recv, stream.Send, answer)
}
