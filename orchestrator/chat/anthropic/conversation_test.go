package anthropic

import (
	"encoding/json"
	"testing"

	"retort/orchestrator/chat/tools"
)

// TestTheLastTurn checks which last turns the model continues: Anthropic's API takes an empty one of the assistant.
func TestTheLastTurn(t *testing.T) {
	const user = `{"role": "user", "content": "a"}, `
	for turns, want := range map[string]struct {
		messages  int
		continues bool
	}{
		`{"role": "user", "content": "a"}`:                                                          {1, false},
		`{"role": "assistant", "content": ""}`:                                                      {1, true},
		user + `{"role": "assistant", "content": "b"}`:                                              {2, true},
		user + `{"role": "assistant", "content": ""}`:                                               {1, false},
		user + `{"role": "assistant", "content": []}`:                                               {1, false},
		user + `{"role": "assistant", "content": [{"type": "thinking"}]}`:                           {1, false},
		user + `{"role": "assistant", "content": ""}, ` + user[:len(user)-2]:                        {3, false},
		user + `{"role": "assistant", "content": [{"type": "tool_use", "name": "n", "input": {}}]}`: {2, true},
		user + `{"role": "assistant", "content": "b"}, {"role": "assistant", "content": ""}`:        {2, true},
	} {
		var in Input
		if err := json.Unmarshal([]byte(`{"model": "m", "messages": [`+turns+`]}`), &in); err != nil {
			t.Fatal(err)
		}
		c := in.conversation(tools.Plan{})
		if len(c.Messages) != want.messages || c.ContinueFinal != want.continues {
			t.Errorf("%s: %d messages, continues: %t, want %+v", turns, len(c.Messages), c.ContinueFinal, want)
		}
	}
}
