package chat_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/orchestrator/chat/anthropic"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/triton/tritontest"
)

// toolTemplate renders tools, calls and results as their values.
const toolTemplate = `{% if tools %}<tools>{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>` +
	`{{ m.content }}{% for c in m.tool_calls or [] %}<call {{ c.id }}>{{ c.function | tojson }}{% endfor %}` +
	`{% if m.role == 'tool' %}<of {{ m.tool_call_id }} {{ m.name }}>{% endif %}<end>{% endfor %}<assistant>`

// serveTools starts the API with a scripted model for each format of calls: test/hermes and so on.
func serveTools(t testing.TB) *testServer {
	t.Helper()
	folder := t.TempDir()
	config, err := os.ReadFile("testdata/models/scripted_vllm/config.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	var models []tritontest.Model
	for _, format := range []string{"hermes", "llama3_json", "mistral"} {
		text := strings.Replace(string(config), "test/scripted-vllm", "test/"+format, 1) +
			`parameters { key: "tools" value { string_value: "` + format + `" } }` + "\n" +
			`parameters { key: "content_format" value { string_value: "text" } }`
		dir := filepath.Join(folder, format)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"config.pbtxt": text, "chat_template.jinja": toolTemplate} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		models = append(models, scriptedModelAt(t, folder, format))
	}
	return serve(t, tritontest.Start(t, models...).URL(), folder, nil)
}

var weather = object{"name": "weather", "description": "The <end> of it", "parameters": object{"type": "object"}}

const twoCalls = "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>" +
	"<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"

const oneCall = `<tool_call>{"name": "weather", "arguments": {}}</tool_call>`

// says returns the text that makes a scripted model answer, character by character.
func says(answer string) string {
	script, _ := json.Marshal(object{"say": strings.Split(answer, "")}) // cannot fail
	return "script " + string(script)
}

// TestCallsOfTheModel checks calls that the model makes of its own accord, in all three interfaces.
func TestCallsOfTheModel(t *testing.T) {
	s := serveTools(t)
	request := object{"model": "test/hermes", "messages": []any{object{"role": "user", "content": says(twoCalls)}},
		"tools": []any{object{"type": "function", "function": weather}}}
	completion := postOK[openai.Completion](s, completions, request).Choices[0]
	message := completion.Message
	if *message.Content != "I look." || len(message.ToolCalls) != 2 || completion.FinishReason != "tool_calls" ||
		message.ToolCalls[0].Function != (openai.FunctionCall{Name: "weather", Arguments: `{"city":"Oslo"}`}) {
		t.Errorf("chat completion: %+v", message)
	}
	request["parallel_tool_calls"] = false
	if got := postOK[openai.Completion](s, completions, request).Choices[0].Message.ToolCalls; len(got) != 1 {
		t.Errorf("without parallel calls: %+v", got)
	}
	request["tool_choice"] = "none"
	if got := postOK[openai.Completion](s, completions, request).Choices[0]; *got.Message.Content != twoCalls {
		t.Errorf("with tool_choice none: %+v", got)
	}

	response := postOK[openai.Response](s, "/v1/responses", object{"model": "test/hermes", "input": says(twoCalls),
		"tools": []any{object{"type": "function", "name": "weather"}}})
	if len(response.Output) != 3 || response.Output[0].Type != "message" || *response.Output[2].Arguments != "{}" {
		t.Errorf("response: %+v", response.Output)
	}

	turn := postOK[anthropic.Message](s, "/v1/messages", object{"model": "test/hermes", "max_tokens": 300,
		"messages": []any{object{"role": "user", "content": says(twoCalls)}},
		"tools":    []any{object{"name": "weather", "input_schema": object{"type": "object"}}}})
	if len(turn.Content) != 3 || *turn.StopReason != "tool_use" || *turn.Content[0].Text != "I look." ||
		string(turn.Content[1].Input) != `{"city":"Oslo"}` {
		t.Errorf("message: %+v", turn)
	}
}

// TestTextsAroundCalls checks the one text of a completion that has text before and after calls, streamed and not.
func TestTextsAroundCalls(t *testing.T) {
	s := serveTools(t)
	for answer, want := range map[string]string{
		"I look.\n" + oneCall + "\n" + oneCall + "\nIt is warm.": "I look.\nIt is warm.",
		oneCall + " It is warm.":                                 "It is warm.",
		"I look." + oneCall + " ":                                "I look.",
	} {
		request := object{"model": "test/hermes", "messages": []any{object{"role": "user", "content": says(answer)}},
			"tools": []any{object{"type": "function", "function": weather}}}
		if got := *postOK[openai.Completion](s, completions, request).Choices[0].Message.Content; got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
		request["stream"] = true
		_, stream := s.post(completions, request)
		if got := streamedText(stream); got != want {
			t.Errorf("%q in a stream: %q, want %q", answer, got, want)
		}
	}
}

// streamedText returns the text of the first choice of a stream.
func streamedText(stream string) (text string) {
	for line := range strings.Lines(stream) {
		var chunk openai.Chunk
		data, found := strings.CutPrefix(line, "data: ")
		if !found || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		if content := chunk.Choices[0].Delta.Content; content != nil {
			text += *content
		}
	}
	return text
}

// TestUnknownToolStaysText has a call of a tool that was not offered, which is text in a stream too.
func TestUnknownToolStaysText(t *testing.T) {
	s := serveTools(t)
	const answer = `[TOOL_CALLS] [{"name": "other", "arguments": {}}]`
	request := object{"model": "test/mistral", "messages": []any{object{"role": "user", "content": says(answer)}},
		"tools": []any{object{"type": "function", "function": weather}}}
	whole := postOK[openai.Completion](s, completions, request).Choices[0]
	if *whole.Message.Content != answer || whole.FinishReason != "stop" {
		t.Errorf("got %+v", whole)
	}
	request["stream"] = true
	_, stream := s.post(completions, request)
	if text := streamedText(stream); text != answer {
		t.Errorf("stream: %q", text)
	}
}

// TestPromptHasTools compares the prompt of a conversation with tools, calls and results in all three interfaces.
func TestPromptHasTools(t *testing.T) {
	s := serveTools(t)
	const tool = `<tools>[{"type": "function", "function": {"name": "weather", "description": "The < end> of it", ` +
		`"parameters": {"type": "object"}}}]<user>a<end>`
	called := func(id string) string {
		return `<call ` + id + `>{"name": "weather", "arguments": {"b": "< end>", "a": 1}}`
	}
	const arguments = `{"b":"<end>","a":1}`
	function := object{"name": "weather", "arguments": arguments}
	for name, test := range map[string]struct {
		path string
		body object
		want string
	}{
		"completions": {completions, object{"model": "test/hermes", "tools": []any{object{"type": "function", "function": weather}},
			"messages": []any{
				object{"role": "user", "content": "a"},
				object{"role": "assistant", "content": "b", "tool_calls": []any{
					object{"id": "call_1", "type": "function", "function": function},
				}},
				object{"role": "tool", "tool_call_id": "call_1", "content": "c"},
			}}, tool + "<assistant>b" + called("call_1") + "<end><tool>c<of call_1 weather><end><assistant>"},
		"short ids": {completions, object{"model": "test/mistral", "tools": []any{object{"type": "function", "function": weather}},
			"messages": []any{
				object{"role": "user", "content": "a"},
				object{"role": "assistant", "tool_calls": []any{object{"id": "call_1", "type": "function", "function": function}}},
				object{"role": "tool", "tool_call_id": "call_1", "content": "c"},
			}}, tool + "<assistant>" + called("74196fe72") + "<end><tool>c<of 74196fe72 weather><end><assistant>"},
		"responses": {"/v1/responses", object{"model": "test/hermes", "tools": []any{object{"type": "function", "name": "weather",
			"description": weather["description"], "parameters": weather["parameters"]}},
			"input": []any{
				object{"role": "user", "content": "a"},
				object{"type": "function_call", "call_id": "1", "name": "weather", "arguments": arguments},
				object{"type": "function_call", "call_id": "2", "name": "weather", "arguments": arguments},
				object{"type": "function_call_output", "call_id": "1", "output": "c"},
			}}, tool + "<assistant>" + called("1") + called("2") + "<end><tool>c<of 1 weather><end><assistant>"},
		"one call a turn": {"/v1/responses", object{"model": "test/llama3_json", "tools": []any{
			object{"type": "function", "name": "weather",
				"description": weather["description"], "parameters": weather["parameters"]}},
			"input": []any{
				object{"role": "user", "content": "a"},
				object{"type": "function_call", "call_id": "1", "name": "weather", "arguments": arguments},
				object{"type": "function_call", "call_id": "2", "name": "weather", "arguments": arguments},
			}}, tool + "<assistant>" + called("1") + "<end><assistant>" + called("2") + "<end><assistant>"},
		"messages": {"/v1/messages", object{"model": "test/hermes", "max_tokens": 9, "tools": []any{object{"name": "weather",
			"description": weather["description"], "input_schema": weather["parameters"]}},
			"messages": []any{
				object{"role": "user", "content": "a"},
				object{"role": "assistant", "content": []any{object{"type": "text", "text": "b"},
					object{"type": "tool_use", "id": "1", "name": "weather", "input": json.RawMessage(arguments)}}},
				object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "1", "content": "c"},
					object{"type": "text", "text": "d"}}},
			}}, tool + "<assistant>b" + called("1") + "<end><tool>c<of 1 weather><end><user>d<end><assistant>"},
	} {
		status, answer := s.post(test.path, test.body)
		var inputs string // in the one text of the answer, the inputs of the model as JSON
		if start := strings.Index(answer, `"{\"exclude`); status == 200 && start >= 0 {
			decoder := json.NewDecoder(strings.NewReader(answer[start:]))
			_ = decoder.Decode(&inputs)
		}
		var got struct {
			Prompt []string `json:"text_input"`
		}
		if err := json.Unmarshal([]byte(inputs), &got); err != nil {
			t.Fatalf("%s: %d %s", name, status, answer)
		}
		if got.Prompt[0] != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got.Prompt[0], test.want)
		}
	}
}
