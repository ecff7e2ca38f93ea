package anthropic

import (
	"encoding/json"
	"testing"
)

// TestTheLastTurn checks which last turns the model continues: Anthropic's API takes an empty one of the assistant.
func TestTheLastTurn(t *testing.T) {
	for turns, want := range map[string]struct {
		messages  int
		continues bool
	}{
		`{"role": "user", "content": "a"}`:                                                                                     {1, false},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}`:                                              {2, true},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}`:                                               {1, false},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": []}`:                                               {1, false},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "c"}]}`:          {1, false},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "assistant", "content": ""}`:        {2, true},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}, {"role": "user", "content": "b"}`:             {3, false},
		`{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]}`: {2, true},
		`{"role": "assistant", "content": ""}`:                                                                                 {1, true},
	} {
		var in Input
		if err := json.Unmarshal([]byte(`{"model": "m", "messages": [`+turns+`]}`), &in); err != nil {
			t.Fatal(err)
		}
		c := in.conversation()
		if len(c.Messages) != want.messages || c.ContinueFinal != want.continues {
			t.Errorf("%s: %d messages, continues: %t, want %+v", turns, len(c.Messages), c.ContinueFinal, want)
		}
	}
}
