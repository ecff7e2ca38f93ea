package teibase

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/bind"
	"retort/tokenizers"
)

// shelf is an API with one model.
type shelf struct{ model Model }

func (s shelf) Ready() error { return nil }

func (s shelf) TEIModel(id *string, _ bool) (Model, error) {
	if id != nil && *id != s.model.ID {
		return Model{}, fault.Missing(fault.Model, "no model %s", *id)
	}
	return s.model, nil
}

func open(t *testing.T) *Service {
	t.Helper()
	tokenizer, err := tokenizers.Load("../../../model_repository/minilm_embed/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	return New(shelf{Model{
		ID:      "tests/one",
		Encoder: &encoder.Encoder{Tokenizer: tokenizer, MaxTokens: 256},
		Prompts: map[string]string{"": "", "query": "query: "},
	}}, Limits{Inputs: 3})
}

func TestTokenizeAndDecode(t *testing.T) {
	s := open(t)
	query := "query"
	tokens, err := s.Tokenize(t.Context(), TokenizeRequest{Inputs: []string{"Aspirin", ""}, PromptName: &query})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tokens[0][1])
	const want = `{"id":23032,"text":"query","special":false,"start":0,"stop":5}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if last := tokens[1][len(tokens[1])-1]; last.Text != "[SEP]" || !last.Special || last.Start != nil {
		t.Errorf("got %+v at the end", last)
	}
	var ids []int32
	for _, token := range tokens[0] {
		ids = append(ids, token.ID)
	}
	texts, err := s.Decode(t.Context(), DecodeRequest{IDs: IDs{ids, {-1}}})
	if err != nil || texts[0] != "query : aspirin" || texts[1] != "" {
		t.Errorf("%q, %v", texts, err)
	}
	for name, call := range map[string]func() error{
		"prompt_name": func() error {
			other := "other"
			_, err := s.Tokenize(t.Context(), TokenizeRequest{Inputs: []string{"a"}, PromptName: &other})
			return err
		},
		"inputs": func() error {
			_, err := s.Tokenize(t.Context(), TokenizeRequest{Inputs: make([]string, 4)})
			return err
		},
		"ids": func() error {
			_, err := s.Decode(t.Context(), DecodeRequest{IDs: make(IDs, 4)})
			return err
		},
	} {
		if f := fault.As(call()); f == nil || f.Field() != name {
			t.Errorf("problem %v, want one in %s", f, name)
		}
	}
}

func TestBounds(t *testing.T) {
	tokenize := TokenizeRequest{Inputs: []string{strings.Repeat("a", maxTextBytes), "b"}}
	if f := fault.As(tokenize.Validate()); f == nil || f.Field() != "inputs" {
		t.Errorf("problem %v, want one in inputs", f)
	}
	ids := "[1" + strings.Repeat(",1", maxIDs-1) + "]"
	for body, want := range map[string]string{
		`{"ids": ` + ids + `}`:                    "",
		`{"ids": [` + ids + `]}`:                  "",
		`{"ids": ` + ids[:len(ids)-1] + `,1]}`:    "ids",
		`{"ids": [` + ids + `,[1]]}`:              "ids",
		`{"ids": [1, null]}`:                      "ids",
		`{"ids": [null]}`:                         "ids",
		`{"ids": [[1], null]}`:                    "ids[1]",
		`{"ids": [[1], [null]]}`:                  "ids[1]",
		`{"ids": "a"}`:                            "ids",
		`{"ids": [[1], ["a"], [2]], "model": ""}`: "ids[1]",
	} {
		got := ""
		if err := bind.JSON([]byte(body), &DecodeRequest{}); err != nil {
			got = fault.As(err).Field()
		}
		if got != want {
			t.Errorf("%.40s: problem in %q, want %q", body, got, want)
		}
	}
}

func TestIDs(t *testing.T) {
	for text, want := range map[string]IDs{
		`[1, 2]`:         {{1, 2}},
		`[[1], [], [2]]`: {{1}, {}, {2}},
		`[]`:             {{}},
		`[4294967295]`:   {{-1}},
		`[2147483647]`:   {{math.MaxInt32}},
	} {
		var got IDs
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

// FuzzBodies checks that bodies are refused with faults of the client, and that tokens and ids are those of the texts.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"inputs": "a", "ids": [1, 2]}`, `{"inputs": ["a", "é"], "ids": [[1], [2]], "skip_special_tokens": false}`,
		`{"inputs": [], "ids": [1, [2]], "model": null}`, `{"inputs": 5, "ids": [-1]}`, `{"inputs": "a", "ids": [1e9]}`,
	} {
		f.Add([]byte(body))
	}
	tokenizer, err := tokenizers.Load("../../../model_repository/minilm_embed/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	model := Model{ID: "tests/one", Encoder: &encoder.Encoder{Tokenizer: tokenizer, MaxTokens: 256}}
	s := New(shelf{model}, Limits{Inputs: 8})
	f.Fuzz(func(t *testing.T, body []byte) {
		var tokenize TokenizeRequest
		check(t, bind.JSON(body, &tokenize), tokenize.Validate, func() error {
			tokens, err := s.Tokenize(t.Context(), tokenize)
			if err == nil && len(tokens) != len(tokenize.Inputs) {
				t.Errorf("%d lists of tokens for %d texts", len(tokens), len(tokenize.Inputs))
			}
			return err
		})
		var decode DecodeRequest
		check(t, bind.JSON(body, &decode), decode.Validate, func() error {
			texts, err := s.Decode(t.Context(), decode)
			if err == nil && len(texts) != len(decode.IDs) {
				t.Errorf("%d texts for %d lists of ids", len(texts), len(decode.IDs))
			}
			return err
		})
	})
}

func check(t *testing.T, err error, steps ...func() error) {
	t.Helper()
	for _, step := range steps {
		if err == nil {
			err = step()
		}
	}
	if err != nil && gateway.StatusOf(fault.KindOf(err)) >= 500 {
		t.Errorf("not a fault of the client: %v", err)
	}
}
