package tei

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/embedding"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/bind"
)

func TestInputs(t *testing.T) {
	for text, want := range map[string]Inputs{
		`"a"`:             {{Text: "a"}},
		`["a", "b"]`:      {{Text: "a"}, {Text: "b"}},
		`[1, 2]`:          {{IDs: []int32{1, 2}}},
		`[[1], "a", [2]]`: {{IDs: []int32{1}}, {Text: "a"}, {IDs: []int32{2}}},
		`[]`:              {},
	} {
		var got Inputs
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"inputs": 5}`:           "inputs[0]",
		`{"inputs": ["a", 5]}`:    "inputs[1]",
		`{"inputs": [1, "a"]}`:    "inputs[0]",
		`{"inputs": [[1, "a"]]}`:  "inputs[0]",
		`{"inputs": [1, null]}`:   "inputs[0]",
		`{"inputs": [[1], [-5]]}`: "inputs[1]",
		`{"inputs": [null]}`:      "inputs[0]",
		`{"inputs": [[]]}`:        "inputs[0]",
		`{"inputs": ["a", ""]}`:   "inputs[1]",
		`{"inputs": {"a": 1}}`:    "inputs[0]",
	} {
		var r Request
		err := bind.JSON([]byte(text), &r)
		if err == nil {
			err = r.Validate()
		}
		if f := fault.As(err); f == nil || f.Field() != want {
			t.Errorf("%s: %v, want a problem in %q", text, f, want)
		}
	}
}

// FuzzBodies checks that each body is decoded into texts and ids or refused.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"inputs": ["a", [1, 2]], "truncate": true, "prompt_name": "query"}`, `{"inputs": [1]}`,
		`{"inputs": {"source_sentence": "a", "sentences": ["b"]}, "parameters": {"truncation_direction": "left"}}`,
		`{"inputs": {"source_sentence": "a"}}`, `{"inputs": [[[1]]]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var r Request
		if bind.JSON(body, &r) == nil && r.Validate() == nil {
			for i, input := range r.Inputs {
				if (input.Text == "") == (len(input.IDs) == 0) {
					t.Errorf("input %d: %+v", i, input)
				}
			}
		}
		var s SimilarityRequest
		if bind.JSON(body, &s) == nil && s.Validate() == nil && len(s.Inputs.Sentences) == 0 {
			t.Error("no sentences are accepted")
		}
	})
}

func TestRenamedPaths(t *testing.T) {
	for _, c := range []struct {
		path []any
		want string
	}{
		{[]any{"input", 0}, "inputs.source_sentence"},
		{[]any{"input", 3}, "inputs.sentences[2]"},
		{[]any{"input"}, "inputs"},
		{[]any{"input_type"}, "prompt_name"},
		{[]any{"dimensions"}, "dimensions"},
	} {
		err := rename(fault.New(fault.Invalid, "wrong").Under(c.path...), sentencePath)
		if got := fault.As(err).Field(); got != c.want {
			t.Errorf("%v: %s, want %s", c.path, got, c.want)
		}
	}
}

// Similarity accepts one sentence fewer than there may be inputs, because the source sentence is one too.
func TestSimilarityCountsTheSourceSentence(t *testing.T) {
	s := New(embedding.New(embedding.Config{MaxInputs: 3}, nil), teibase.Limits{})
	r := SimilarityRequest{}
	r.Inputs.Sentences = []string{"a", "b", "c"}
	_, err := s.Similarity(t.Context(), r)
	if f := fault.As(err); f == nil || f.Field() != "inputs.sentences" || !strings.Contains(f.Message, "at most 2 items") {
		t.Errorf("%v", err)
	}
}
