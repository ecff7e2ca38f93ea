package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// scriptedEngine is testdata/scripted/model.py in Go, so that tests run without Triton.
type scriptedEngine struct {
	batched    bool // has a batch dimension
	cumulative bool // each response has the whole text so far
	canceled   atomic.Int64
	started    atomic.Int64
}

var scriptPattern = regexp.MustCompile(`script (\{.*\})`)

type script struct {
	Say      []string
	Delay    int `json:"delay_ms"`
	Finish   string
	Fail     *string
	FailAt   int `json:"fail_at"`
	Canceled bool
	Started  bool
}

// scriptedModel returns one of testdata/models.
func scriptedModel(tb testing.TB, name string) tritontest.Model {
	return scriptedModelAt(tb, "testdata/models", name)
}

// scriptedModelAt is scriptedModel for another folder of models.
func scriptedModelAt(tb testing.TB, folder, name string) tritontest.Model {
	config := tritontest.ConfigFile(tb, folder+"/"+name+"/config.pbtxt")
	s := &scriptedEngine{
		batched:    config.MaxBatchSize > 0,
		cumulative: config.Parameters["cumulative_text"].GetStringValue() == "true",
	}
	return tritontest.Model{Name: name, Config: config, Stream: s.stream}
}

func (s *scriptedEngine) stream(ctx context.Context, r *triton.Request, send func(*triton.Response) error) error {
	prompt := textInput(r, "text_input")
	var plan script
	if found := scriptPattern.FindStringSubmatch(prompt); found != nil {
		if err := json.Unmarshal([]byte(found[1]), &plan); err != nil {
			return err
		}
	} else {
		plan.Say = []string{inputsJSON(r)}
	}
	if plan.Canceled {
		plan.Say = []string{fmt.Sprint(s.canceled.Load())}
	}
	if plan.Started {
		plan.Say = []string{fmt.Sprint(s.started.Load())}
	}
	if plan.Delay > 0 {
		s.started.Add(1)
	}
	if plan.Finish == "" {
		plan.Finish = "stop"
	}
	if limit := maxTokens(r); len(plan.Say) > limit {
		plan.Say = plan.Say[:limit]
		plan.Finish = "length"
	}
	stream := boolInput(r, "stream") || boolInput(r, "streaming")
	whole := ""
	var unsent []string
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
		whole += piece
		unsent = append(unsent, piece)
		last := i == len(plan.Say)-1
		if !stream && !last {
			continue
		}
		text := piece
		finish := "None"
		if s.cumulative || !stream {
			text = whole
		}
		if last {
			finish = plan.Finish
		}
		if err := send(s.response(r, text, unsent, finish, len(strings.Fields(prompt)))); err != nil {
			s.canceled.Add(1)
			return err
		}
		unsent = nil
	}
	if len(plan.Say) == 0 && plan.Fail != nil {
		return errors.New(*plan.Fail)
	}
	return nil
}

func (s *scriptedEngine) response(
	r *triton.Request, text string, pieces []string, finish string, words int,
) *triton.Response {
	shape := []int64{1}
	if s.batched {
		shape = []int64{1, 1}
	}
	res := &triton.Response{Outputs: []triton.Tensor{triton.Strings("text_output", shape, []string{text})}}
	add := func(t triton.Tensor) { res.Outputs = append(res.Outputs, t) }
	if boolInput(r, "return_finish_reason") {
		add(triton.Strings("finish_reason", []int64{1}, []string{finish}))
	}
	if boolInput(r, "return_num_input_tokens") {
		add(triton.New("num_input_tokens", []int64{}, []uint32{uint32(words)}))
	}
	if boolInput(r, "return_num_output_tokens") {
		add(triton.New("num_output_tokens", []int64{1}, []uint32{uint32(len(pieces))}))
	}
	if boolInput(r, "return_logprobs") {
		var tokens []string
		for _, p := range pieces {
			quoted, _ := json.Marshal(p)
			tokens = append(tokens, fmt.Sprintf(`{"%d":{"logprob":-0.5,"rank":1,"decoded_token":%s},`+
				`"7":{"logprob":-1.5,"rank":2,"decoded_token":"other"}}`, []rune(p)[0], quoted))
		}
		add(triton.Strings("logprobs", []int64{1}, []string{"[" + strings.Join(tokens, ",") + "]"}))
	}
	return res
}
