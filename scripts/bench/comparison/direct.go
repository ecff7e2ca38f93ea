package comparison

import (
	"context"

	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Direct runs a BERT-like model without the gateway, on tensors prepared beforehand.
type Direct struct {
	Client *triton.Client
	Triton Processes
	Entry  string // the model's name in Triton
	Graph  string // its ONNX file
	Python string // an interpreter with onnxruntime; "": no sides of ONNX Runtime alone
	PadID  int32
	Encode func(text string) (*tokenizers.Encoding, error)
}

// maxRows is the most texts of a call.
const maxRows = 32

// ReadyTensors is a side that sends the load to Triton in calls of at most maxRows texts, in the order of the texts.
func (d *Direct) ReadyTensors(load Load) (Side, error) {
	return d.triton("ready tensors to the same Triton", load, d.tensors)
}

// ComputedPadding is like ReadyTensors, but its attention mask covers the padding: a graph that skips padding computes
// it too, as other graphs do.
func (d *Direct) ComputedPadding(load Load) (Side, error) {
	return d.triton("arrival order, 32 rows padded, padding computed", load,
		func(texts []string) (*triton.Request, error) {
			batch, err := d.batch(texts)
			if err != nil {
				return nil, err
			}
			for i := range batch.AttentionMask {
				batch.AttentionMask[i] = 1
			}
			return d.request(batch), nil
		})
}

func (d *Direct) triton(name string, load Load, tensors func([]string) (*triton.Request, error)) (Side, error) {
	p, err := prepare(load, tensors)
	if err != nil {
		return Side{}, err
	}
	infer := func(ctx context.Context, call int) error {
		_, err := d.Client.Infer(ctx, p.calls[call])
		return err
	}
	return Side{Name: name, Call: p.caller(infer), Served: d.Triton}, nil
}

// SameTensors returns a side that runs the load on ONNX Runtime alone, or none without Python, in the calls of
// ReadyTensors and one request at a time. stop ends its process.
func (d *Direct) SameTensors(load Load) (sides []Side, stop func(), err error) {
	if d.Python == "" {
		return nil, func() {}, nil
	}
	p, err := prepare(load, d.tensors)
	if err != nil {
		return nil, nil, err
	}
	r, err := startRuntime(d.Python, d.Graph, p.calls)
	if err != nil {
		return nil, nil, err
	}
	side := Side{Name: "ONNX Runtime alone, the same tensors", Call: p.caller(r.run), Served: r.processes(),
		Sequential: &load}
	return []Side{side}, r.close, nil
}

// tensors tokenizes texts into one call: tensors [texts, tokens], padded to the longest text.
func (d *Direct) tensors(texts []string) (*triton.Request, error) {
	batch, err := d.batch(texts)
	if err != nil {
		return nil, err
	}
	return d.request(batch), nil
}

func (d *Direct) batch(texts []string) (*tokenizers.Batch, error) {
	rows := make([]*tokenizers.Encoding, len(texts))
	for i, text := range texts {
		var err error
		if rows[i], err = d.Encode(text); err != nil {
			return nil, err
		}
	}
	batch := new(tokenizers.Batch)
	batch.Fill(rows, d.PadID)
	return batch, nil
}

func (d *Direct) request(batch *tokenizers.Batch) *triton.Request {
	return &triton.Request{Model: d.Entry, Inputs: []triton.Tensor{
		triton.Int64s("input_ids", batch.Shape(), batch.InputIDs),
		triton.Int64s("attention_mask", batch.Shape(), batch.AttentionMask),
		triton.Int64s("token_type_ids", batch.Shape(), batch.TokenTypeIDs),
	}}
}

// prepared is a load as calls.
type prepared struct {
	size     int // texts of a request
	calls    []*triton.Request
	requests [][]int // the calls of each request, as numbers
}

// prepare cuts each request of a load into calls of at most maxRows texts.
func prepare(load Load, tensors func([]string) (*triton.Request, error)) (p prepared, err error) {
	p.size = load.Size
	for lo := 0; lo < len(load.Texts); lo += load.Size {
		var numbers []int
		for at := lo; at < lo+load.Size; at += maxRows {
			call, err := tensors(load.Texts[at:min(at+maxRows, lo+load.Size)])
			if err != nil {
				return p, err
			}
			numbers = append(numbers, len(p.calls))
			p.calls = append(p.calls, call)
		}
		p.requests = append(p.requests, numbers)
	}
	return p, nil
}

// caller makes the calls of a request, one after another.
func (p prepared) caller(run func(ctx context.Context, call int) error) Call {
	return func(ctx context.Context, _ []string, lo, _ int) error {
		for _, call := range p.requests[lo/p.size] {
			if err := run(ctx, call); err != nil {
				return err
			}
		}
		return nil
	}
}
