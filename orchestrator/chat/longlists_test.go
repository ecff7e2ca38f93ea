package chat_test

import (
	"runtime"
	"strings"
	"testing"

	"retort/orchestrator/chat"
	"retort/orchestrator/gateway"
)

// TestLongLists sends bodies of 4 MiB that are one list. The answer must be short, and items beyond a bound must take
// little memory beyond the body.
func TestLongLists(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, func(_ *chat.Config, limits *gateway.Config) { limits.BodyLimit = 32 << 20 })
	const size = 4 << 20
	long := func(before, item, after string) string {
		var b strings.Builder
		b.WriteString(before + item)
		for b.Len() < size {
			b.WriteString("," + item)
		}
		return b.String() + after
	}
	const model = `{"model":"test/scripted-vllm","messages":[{"role":"user","content":"a"}],`
	for name, test := range map[string]struct{ path, body, want string }{
		"messages":        {completions, long(`{"model":"m","messages":[`, `{}`, `]}`), "messages[0].role: Field required"},
		"messages, stack": {olderStackPath, long(`{"model":"m","messages":[`, `{}`, `]}`), "messages[0].role: Field required"},
		"parts":           {completions, long(`{"model":"m","messages":[{"role":"user","content":[`, `{"type":"text","text":""}`, `]}]}`), "at most 1024 items"},
		"parts, stack":    {olderStackPath, long(`{"model":"m","messages":[{"role":"user","content":[`, `""`, `]}]}`), "at most 1024 items"},
		"members of a part": {completions, `{"model":"m","messages":[{"role":"user","content":[{` + numberedMembers(size) + `}]}]}`,
			"messages[0].content[0].type: Field required"},
		"stop strings": {completions, long(model+`"stop":[`, `""`, `]}`), "stop"},
		"stop tokens":  {completions, long(model+`"stop_token_ids":[`, `0`, `]}`), "at most 1024 items"},
		"tools":        {completions, long(model+`"tools":[`, `{}`, `]}`), "at most 128 items"},
		"tool calls":   {completions, long(`{"model":"m","messages":[{"role":"assistant","content":"a","tool_calls":[`, `{}`, `]}]}`), "at most 128 items"},
		"input":        {"/v1/responses", long(`{"model":"m","input":[`, `{}`, `]}`), "at most 1024 items"},
		"prompts":      {"/v1/completions", long(`{"model":"m","prompt":[`, `"a"`, `]}`), "at most 64 items"},
		"biases":       {completions, model + `"logit_bias":{` + numberedMembers(size) + `}}`, "logit_bias"},
		"modalities":   {completions, long(model+`"modalities":[`, `""`, `]}`), "at most 16 items"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, text := (&testServer{t: t, url: s.url}).post(test.path, test.body)
			runtime.ReadMemStats(&after)
			if status != 400 || !strings.Contains(text, test.want) || len(text) > 8192 {
				t.Errorf("%d, %d bytes: %.500s", status, len(text), text)
			}
			// 24 bytes a byte: copies of the client, the server and the decoder
			if used := after.TotalAlloc - before.TotalAlloc; !raceEnabled && used > 24*size {
				t.Errorf("%d MB were allocated", used>>20)
			}
		})
	}
}

// numberedMembers returns the members of an object with size bytes.
func numberedMembers(size int) string {
	var b strings.Builder
	b.WriteString(`"#":0`)
	for i := 0; b.Len() < size; i++ {
		b.WriteString(`,"#`)
		for n := i; ; n /= 36 {
			b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyz"[n%36])
			if n < 36 {
				break
			}
		}
		b.WriteString(`":0`)
	}
	return b.String()
}
