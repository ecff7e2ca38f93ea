package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"retort/orchestrator/chat/prompt"
	"retort/orchestrator/chat/tools"
)

// Call is a call of a tool in an earlier answer.
type Call = prompt.Call

// Result marks the parts of the result of a tool.
type Result struct {
	ID     string // of the call
	Failed bool
}

// flatten returns messages for a model whose template knows no tools: their calls and results are texts.
func flatten(messages []Message) []Message {
	flat := make([]Message, len(messages))
	for i, message := range messages {
		flat[i] = message
		flat[i].Parts = nil
		var result *Result
		for _, part := range message.Parts {
			if part.Result != nil && part.Result != result {
				flat[i].Parts = append(flat[i].Parts, Part{Text: part.Result.heading()})
			}
			result = part.Result
			if part.Call != nil {
				part = Part{Text: "Call of " + part.Call.Name + ": " + part.Call.Arguments}
			}
			if part != (Part{Result: result}) || result == nil {
				flat[i].Parts = append(flat[i].Parts, Part{Text: part.Text, Image: part.Image})
			}
		}
	}
	return flat
}

func (r *Result) heading() string {
	if r.Failed {
		return "The tool failed:"
	}
	return "The tool returned:"
}

// turns returns messages as the template of a model with tools expects them: calls are members of an assistant's
// message, and each result is a message of its own. Images of results, which templates do not expect there, go into a
// message of the user.
func (m *Model) turns(messages []Message) (turns []prompt.Message) {
	calls := map[string]Call{} // by the ids of the client
	for _, message := range messages {
		turns = append(turns, m.split(message, calls)...)
	}
	return m.arrangeCalls(turns)
}

// split returns the turns of one message. It adds the calls of the message to calls.
func (m *Model) split(message Message, calls map[string]Call) (turns []prompt.Message) {
	turn := prompt.Message{Role: message.Role}
	var result *Result
	for _, part := range message.Parts {
		switch {
		case part.Call != nil:
			call := *part.Call
			call.ID = m.callID(call.ID)
			calls[part.Call.ID] = call
			turn.Calls = append(turn.Calls, call)
			continue
		case part.Result != nil && part.Result != result:
			call, known := calls[part.Result.ID]
			if !known {
				call.ID = m.callID(part.Result.ID)
			}
			turns = append(turns, prompt.Message{Role: "tool", Of: call})
		}
		result = part.Result
		to := &turn
		if result != nil && part.Image == nil {
			to = &turns[len(turns)-1]
		}
		if result == nil || part.Image != nil || part.Text != "" {
			to.Parts = append(to.Parts, prompt.Part{Image: part.Image != nil, Text: part.Text})
		}
	}
	if len(turns) == 0 || len(turn.Parts) > 0 {
		turns = append(turns, turn)
	}
	return turns
}

// arrangeCalls gives each call of Llama's models a turn of its own, because their templates accept no more. For all
// other models, calls that follow an assistant's turn become part of it.
func (m *Model) arrangeCalls(turns []prompt.Message) (arranged []prompt.Message) {
	for _, turn := range turns {
		last := len(arranged) - 1
		switch {
		case m.tools == tools.Llama && len(turn.Calls) > 1:
			for i := range turn.Calls {
				one := turn
				one.Calls = turn.Calls[i : i+1]
				arranged = append(arranged, one)
				turn.Parts = nil
			}
		case m.tools != tools.Llama && len(turn.Calls) > 0 && len(turn.Parts) == 0 &&
			last >= 0 && arranged[last].Role == turn.Role:
			arranged[last].Calls = append(arranged[last].Calls, turn.Calls...)
		default:
			arranged = append(arranged, turn)
		}
	}
	return arranged
}

// mistralID matches the ids of calls that the templates of Mistral's models accept.
var mistralID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// callID returns the id of a call for the template.
func (m *Model) callID(id string) string {
	if m.tools != tools.Mistral || mistralID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}
