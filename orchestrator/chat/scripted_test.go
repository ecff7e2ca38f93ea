package chat_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// scripted is testdata/scripted/model.py in Go: what a test sees on the fake
// server is what happens on the real one.
type scripted struct {
	batched, growing bool
	canceled         atomic.Int64
}

var scriptIn = regexp.MustCompile(`script (\{.*\})`)

type script struct {
	Say      []string
	Delay    int `json:"delay_ms"`
	Finish   string
	Fail     *string
	FailAt   int `json:"fail_at"`
	Canceled bool
}

// scriptedModel is one of testdata/models.
func scriptedModel(tb testing.TB, name string) tritontest.Model {
	config := tritontest.ConfigFile(tb, "testdata/models/"+name+"/config.pbtxt")
	s := &scripted{batched: config.MaxBatchSize > 0, growing: config.Parameters["cumulative_text"].GetStringValue() == "true"}
	return tritontest.Model{Name: name, Config: config, Stream: s.stream}
}

func (s *scripted) stream(ctx context.Context, r *triton.Request, send func(*triton.Response) error) error {
	prompt := firstText(r, "text_input")
	var plan script
	if found := scriptIn.FindStringSubmatch(prompt); found != nil {
		if err := json.Unmarshal([]byte(found[1]), &plan); err != nil {
			return err
		}
	} else {
		plan.Say = []string{described(r)}
	}
	if plan.Canceled {
		plan.Say = []string{fmt.Sprint(s.canceled.Load())}
	}
	if plan.Finish == "" {
		plan.Finish = "stop"
	}
	if most := maxTokens(r); len(plan.Say) > most {
		plan.Say, plan.Finish = plan.Say[:most], "length"
	}
	stream := truth(r, "stream") || truth(r, "streaming")
	shown, waiting := "", []string{}
	for i, piece := range plan.Say {
		select {
		case <-ctx.Done():
			s.canceled.Add(1)
			return ctx.Err()
		case <-time.After(time.Duration(plan.Delay) * time.Millisecond):
		}
		if plan.Fail != nil && plan.FailAt == i {
			return errors.New(*plan.Fail)
		}
		shown += piece
		waiting = append(waiting, piece)
		last := i == len(plan.Say)-1
		if !stream && !last {
			continue
		}
		text, finish := piece, "None"
		if s.growing || !stream {
			text = shown
		}
		if last {
			finish = plan.Finish
		}
		if err := send(s.response(r, text, waiting, finish, len(strings.Fields(prompt)))); err != nil {
			s.canceled.Add(1)
			return err
		}
		waiting = nil
	}
	if len(plan.Say) == 0 && plan.Fail != nil {
		return errors.New(*plan.Fail)
	}
	return nil
}

func (s *scripted) response(r *triton.Request, text string, pieces []string, finish string, words int) *triton.Response {
	shape := []int64{1}
	if s.batched {
		shape = []int64{1, 1}
	}
	res := &triton.Response{Outputs: []triton.Tensor{triton.Strings("text_output", shape, []string{text})}}
	add := func(t triton.Tensor) { res.Outputs = append(res.Outputs, t) }
	if truth(r, "return_finish_reason") {
		add(triton.Strings("finish_reason", []int64{1}, []string{finish}))
	}
	if truth(r, "return_num_input_tokens") {
		add(triton.New("num_input_tokens", []int64{}, []uint32{uint32(words)}))
	}
	if truth(r, "return_num_output_tokens") {
		add(triton.New("num_output_tokens", []int64{1}, []uint32{uint32(len(pieces))}))
	}
	if truth(r, "return_logprobs") {
		var tokens []string
		for _, p := range pieces {
			quoted, _ := json.Marshal(p)
			tokens = append(tokens, fmt.Sprintf(`{"%d":{"logprob":-0.5,"rank":1,"decoded_token":%s},"7":{"logprob":-1.5,"rank":2,"decoded_token":"other"}}`, []rune(p)[0], quoted))
		}
		add(triton.Strings("logprobs", []int64{1}, []string{"[" + strings.Join(tokens, ",") + "]"}))
	}
	return res
}

func maxTokens(r *triton.Request) int {
	if text := firstText(r, "sampling_parameters"); text != "" {
		var p struct {
			MaxTokens int `json:"max_tokens"`
		}
		_ = json.Unmarshal([]byte(text), &p)
		return p.MaxTokens
	}
	for _, name := range []string{"max_tokens", "sampling_param_max_tokens"} {
		if t, ok := r.Input(name); ok {
			return whole(t)
		}
	}
	return math.MaxInt
}

func firstText(r *triton.Request, name string) string {
	t, ok := r.Input(name)
	if !ok {
		return ""
	}
	values, err := t.Strings()
	if err != nil || len(values) == 0 {
		return ""
	}
	return values[0]
}

func truth(r *triton.Request, name string) bool {
	t, ok := r.Input(name)
	if !ok {
		return false
	}
	values, err := t.Bools()
	return err == nil && len(values) > 0 && values[0]
}

// described is what the gateway sent, as JSON.
func described(r *triton.Request) string {
	out := map[string]any{}
	for _, t := range r.Inputs {
		out[t.Name] = describedTensor(t)
	}
	text, _ := json.Marshal(out)
	return string(text)
}

func describedTensor(t triton.Tensor) any {
	switch t.Name {
	case "image", "image_url", "image_url_input":
		var sizes []any
		files, _ := t.Strings()
		for _, text := range files {
			if _, after, found := strings.Cut(text, ","); found {
				text = after
			}
			file, _ := base64.StdEncoding.DecodeString(text)
			sizes = append(sizes, sizeOf(file))
		}
		return sizes
	case "image_bytes_input":
		return map[string]any{"shape": t.Shape, "first": []int{int(t.Raw()[0]), int(t.Raw()[1]), int(t.Raw()[2])}}
	case "sampling_parameters":
		texts, _ := t.Strings()
		return json.RawMessage(texts[0])
	}
	switch t.Datatype {
	case triton.BYTES:
		v, _ := t.Strings()
		return v
	case triton.BOOL:
		v, _ := t.Bools()
		return v
	case triton.FP32:
		v, _ := t.Float32s()
		rounded := make([]float64, len(v))
		for i, f := range v {
			rounded[i] = math.Round(float64(f)*1e4) / 1e4
		}
		return rounded
	}
	return []int{whole(t)}
}

func sizeOf(file []byte) any {
	if len(file) < 24 || string(file[:8]) != "\x89PNG\r\n\x1a\n" {
		return fmt.Sprintf("%x", file[:min(4, len(file))])
	}
	at := func(i int) int { return int(file[i])<<24 | int(file[i+1])<<16 | int(file[i+2])<<8 | int(file[i+3]) }
	return []int{at(16), at(20)}
}

// whole is the one number of an integer tensor.
func whole(t triton.Tensor) int {
	switch values := t.Raw(); t.Datatype.Size() {
	case 4:
		return int(int32(binary.LittleEndian.Uint32(values)))
	default:
		return int(binary.LittleEndian.Uint64(values))
	}
}
