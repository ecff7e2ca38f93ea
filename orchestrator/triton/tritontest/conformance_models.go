package tritontest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"retort/orchestrator/triton"
)

// conformanceModel returns one of the models in models/ with a Go function in place of its model.py.
func conformanceModel(tb testing.TB, name string) Model {
	text, err := models.ReadFile("models/" + name + "/config.pbtxt")
	if err != nil {
		tb.Fatal(err)
	}
	m := Model{Name: name, Config: Config(tb, string(text))}
	switch name {
	case "conformance_identity":
		m.Infer = identity
	case "conformance_count":
		m.Stream = (&counting{}).stream
	case "conformance_slow":
		m.Infer = (&sleeping{}).infer
	case "conformance_fail":
		m.Infer = failing
	}
	return m
}

func identity(_ context.Context, r *triton.Request) (*triton.Response, error) {
	return &triton.Response{Outputs: r.Inputs}, nil
}

// integer returns the element of an INT32 input, or a fallback if it is absent.
func integer(r *triton.Request, name string, fallback int32) int32 {
	if t, ok := Input(r, name); ok {
		if values, err := triton.Values[int32](t); err == nil && len(values) > 0 {
			return values[0]
		}
	}
	return fallback
}

type counting struct{ canceled atomic.Int32 }

func (c *counting) stream(ctx context.Context, r *triton.Request, send func(*triton.Response) error) error {
	pause := time.Duration(integer(r, "PAUSE", 0)) * time.Millisecond
	for value := range integer(r, "N", 0) {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			c.canceled.Add(1)
			return nil
		}
		if integer(r, "FAIL", -1) == value {
			return fmt.Errorf("told to fail at %d", value)
		}
		if err := send(&triton.Response{Outputs: []triton.Tensor{
			triton.New("VALUE", []int64{1}, []int32{value}),
			triton.New("CANCELED", []int64{1}, []int32{c.canceled.Load()}),
		}}); err != nil {
			return nil
		}
	}
	return nil
}

type sleeping struct{ canceled atomic.Int32 }

func (s *sleeping) infer(ctx context.Context, r *triton.Request) (*triton.Response, error) {
	input := r.Inputs[0]
	select {
	case <-ctx.Done():
		s.canceled.Add(1)
	case <-time.After(time.Duration(integer(r, "MILLISECONDS", 0)) * time.Millisecond):
	}
	counts := make([]int32, input.Elements())
	for i := range counts {
		counts[i] = s.canceled.Load()
	}
	return &triton.Response{Outputs: []triton.Tensor{
		triton.Raw("SLEPT", triton.INT32, input.Shape, input.Raw()),
		triton.New("CANCELED", input.Shape, counts),
	}}, nil
}

// failing returns an error with the code that the input names as TritonError does.
func failing(_ context.Context, r *triton.Request) (*triton.Response, error) {
	names, err := Texts(r.Inputs[0])
	if err != nil {
		return nil, err
	}
	if names[0] == "RAISE" {
		return nil, errors.New("ValueError: the model broke")
	}
	code, ok := map[string]codes.Code{
		"INVALID_ARG":    codes.InvalidArgument,
		"UNAVAILABLE":    codes.Unavailable,
		"NOT_FOUND":      codes.NotFound,
		"INTERNAL":       codes.Internal,
		"UNKNOWN":        codes.Unknown,
		"UNSUPPORTED":    codes.Unimplemented,
		"ALREADY_EXISTS": codes.AlreadyExists,
		"CANCELLED":      codes.Canceled,
	}[names[0]]
	if !ok {
		return nil, errors.New("KeyError: " + names[0])
	}
	return nil, Refuse(code, "told to fail with "+names[0])
}
