package chat_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/color"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/gateway"
)

// dataURL is a file of vision/testdata.
func dataURL(t testing.TB, name string) string {
	t.Helper()
	file, err := os.ReadFile("vision/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return "data:image/any;base64," + base64.StdEncoding.EncodeToString(file)
}

func many[T any](n int, one T) (all []T) {
	for range n {
		all = append(all, one)
	}
	return all
}

// Paths of the two interfaces.
const (
	completions = "/v1/chat/completions"
	older       = "/inference/chat_completion"
)

// TestRefusals holds that bad input is refused in the documented form, names
// the field, and leaves the service as it was.
func TestRefusals(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	picture := func(url string) object { return asked(vllmModel, []any{textPart("?"), imagePart(url)}, nil) }
	option := func(name string, value any) object { return asked(vllmModel, "Hi", object{name: value}) }
	message := func(m any) object { return object{"model": vllmModel, "messages": []any{m}} }
	for name, test := range map[string]struct {
		path  string
		body  any
		param string
		text  string
	}{
		"nested JSON":         {completions, strings.Repeat(`{"messages":[`, 15_000), "-", "messages[0]"},
		"nested JSON, whole":  {completions, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "-", "JSON decode error"},
		"nested in a message": {completions, `{"model":"m","messages":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "-", ""},
		"nested content":      {completions, `{"model":"m","messages":[{"role":"user","content":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}]}`, "messages[0].content[0]", "valid dictionary"},
		"no JSON":             {completions, "hello", "-", "JSON decode error"},
		"empty body":          {completions, "", "", "empty"},
		"a list":              {completions, "[]", "", "valid dictionary"},
		"no messages":         {completions, object{"model": vllmModel}, "messages", "Field required"},
		"empty messages":      {completions, object{"model": vllmModel, "messages": []any{}}, "messages", "at least 1 item"},
		"messages a string":   {completions, object{"model": vllmModel, "messages": "Hi"}, "messages", "valid list"},
		"no model":            {completions, object{"messages": []any{object{"role": "user", "content": "a"}}}, "model", "Field required"},
		"empty message":       {completions, message(object{"role": "user", "content": ""}), "messages[0].content", "no content"},
		"null message":        {completions, message(object{"role": "user", "content": nil}), "messages[0].content", "no content"},
		"no parts":            {completions, message(object{"role": "user", "content": []any{}}), "messages[0].content", "no content"},
		"no role":             {completions, message(object{"content": "a"}), "messages[0].role", "Field required"},
		"unknown role":        {completions, message(object{"role": "wizard", "content": "a"}), "messages[0].role", "Input should be 'system', 'developer', 'user' or 'assistant'"},
		"tool message":        {completions, message(object{"role": "tool", "content": "a"}), "messages[0].role", "calls no tools"},
		"image of assistant":  {completions, message(object{"role": "assistant", "content": []any{imagePart("data:,")}}), "messages[0].content[0]", "role \\\"user\\\" only"},
		"unknown part":        {completions, message(object{"role": "user", "content": []any{object{"type": "video_url"}}}), "messages[0].content[0].type", "'text' or 'image_url'"},
		"part without type":   {completions, message(object{"role": "user", "content": []any{object{"text": "a"}}}), "messages[0].content[0].type", "Field required"},
		"image without url":   {completions, message(object{"role": "user", "content": []any{object{"type": "image_url", "image_url": object{}}}}), "messages[0].content[0].image_url.url", "Field required"},
		"bad detail":          {completions, message(object{"role": "user", "content": []any{object{"type": "image_url", "image_url": object{"url": "a", "detail": "huge"}}}}), "messages[0].content[0].image_url.detail", "'auto', 'low' or 'high'"},
		"content a number":    {completions, message(object{"role": "user", "content": 5}), "messages[0].content", "valid string or a list"},
		"unknown field":       {completions, option("magic", 1), "magic", "Extra inputs are not permitted"},
		"too many messages":   {completions, object{"model": vllmModel, "messages": many(1025, object{"role": "user", "content": "a"})}, "messages", "at most 1024 items"},

		"100 images":           {completions, asked(vllmModel, many(100, imagePart(drawing(9, 9, color.Black))), nil), "messages", "At most 2 image(s) may be provided in one prompt."},
		"broken base64":        {completions, picture("data:image/png;base64,iVBORw0KGgo!!!!"), "messages[0].content[1]", "base64 is broken"},
		"1 pixel":              {completions, picture(drawing(1, 1, color.Black)), "messages[0].content[1]", "1 × 1 pixels"},
		"30000 pixels":         {completions, picture(drawing(30000, 9, color.Black)), "messages[0].content[1]", "30000 × 9 pixels"},
		"animated GIF":         {completions, picture(dataURL(t, "animated.gif")), "messages[0].content[1]", "is animated"},
		"animated WebP":        {completions, picture(dataURL(t, "animated.webp")), "messages[0].content[1]", "is animated"},
		"bomb":                 {completions, picture(dataURL(t, "bomb.webp")), "messages[0].content[1]", "broken"},
		"HTML":                 {completions, picture("data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("<html>"))), "messages[0].content[1]", "looks like text/html"},
		"file URL":             {completions, picture("file:///etc/passwd"), "messages[0].content[1]", "data, http and https URLs"},
		"metadata service":     {completions, picture("http://169.254.169.254/latest/meta-data/"), "messages[0].content[1]", "not fetched from"},
		"private address":      {completions, picture("http://192.168.0.1/x.png"), "messages[0].content[1]", "not fetched from"},
		"stack, broken base64": {older, asked(vllmModel, []any{"?", object{"image": object{"uri": "data:image/png;base64,*"}}}, nil), "messages[0].content[1]", "base64 is broken"},
		"stack, file":          {older, asked(vllmModel, object{"image": object{"uri": "file:///etc/passwd"}}, nil), "messages[0].content[0]", "data, http and https URLs"},
		"stack, no messages":   {older, object{"model": vllmModel, "messages": []any{}}, "messages", "at least 1 item"},
		"stack, no model":      {older, object{"messages": []any{object{"role": "user", "content": "a"}}}, "model", "Field required"},
		"stack, unknown role":  {older, message(object{"role": "wizard", "content": "a"}), "messages[0].role", "Input should be"},
		"stack, tool result":   {older, message(object{"role": "ipython", "content": "a"}), "messages[0].role", "calls no tools"},
		"stack, bad part":      {older, asked(vllmModel, []any{object{"audio": "x"}}, nil), "messages[0].content[0].type", "'text' or 'image'"},
		"stack, image of what": {older, asked(vllmModel, []any{object{"image": object{}}}, nil), "messages[0].content[0].image.uri", "Field required"},
		"stack, bad strategy":  {older, asked(vllmModel, "a", object{"sampling_params": object{"strategy": "beam"}}), "sampling_params.strategy", "'greedy', 'top_p' or 'top_k'"},
		"stack, top_k without": {older, asked(vllmModel, "a", object{"sampling_params": object{"strategy": "top_k"}}), "sampling_params.top_k", "Field required"},
		"stack, tools":         {older, asked(vllmModel, "a", object{"tools": []any{object{}}}), "tools", "not supported"},
		"stack, output format": {older, asked(vllmModel, "a", object{"response_format": object{"type": "json_schema"}}), "response_format", "guided decoding"},

		"max_tokens 0":           {completions, option("max_tokens", 0), "max_tokens", "max_tokens must be at least 1, got 0."},
		"max_tokens -186":        {completions, option("max_completion_tokens", -186), "max_tokens", "max_tokens must be at least 1, got -186."},
		"max_tokens text":        {completions, option("max_tokens", "many"), "max_tokens", "valid integer"},
		"max_tokens huge":        {completions, `{"model":"` + vllmModel + `","messages":[{"role":"user","content":"a"}],"max_tokens":1e400}`, "max_tokens", "valid integer"},
		"n 0":                    {completions, option("n", 0), "n", "n must be at least 1, got 0."},
		"n 1000":                 {completions, option("n", 1000), "n", "less than or equal to 16"},
		"greedy n":               {completions, asked(vllmModel, "a", object{"n": 2, "temperature": 0}), "n", "n must be 1 when using greedy sampling, got 2."},
		"temperature":            {completions, option("temperature", -1), "temperature", "temperature must be non-negative, got -1."},
		"top_p":                  {completions, option("top_p", 0), "top_p", "top_p must be in (0, 1], got 0."},
		"top_k":                  {completions, option("top_k", -2), "top_k", "top_k must be -1 (disable), or at least 1, got -2."},
		"min_p":                  {completions, option("min_p", 2), "min_p", "min_p must be in [0, 1], got 2."},
		"presence_penalty":       {completions, option("presence_penalty", 3), "presence_penalty", "presence_penalty must be in [-2, 2], got 3."},
		"repetition_penalty":     {completions, option("repetition_penalty", 0), "repetition_penalty", "repetition_penalty must be in (0, 2], got 0."},
		"min_tokens":             {completions, asked(vllmModel, "a", object{"min_tokens": 6, "max_tokens": 5}), "min_tokens", "min_tokens must be less than or equal to max_tokens=5, got 6."},
		"empty stop":             {completions, option("stop", []string{"a", ""}), "stop[1]", "stop cannot contain an empty string."},
		"many stops":             {completions, option("stop", many(100, "x")), "stop", "at most 16 items"},
		"stop a number":          {completions, option("stop", 5), "stop", "valid string"},
		"top_logprobs alone":     {completions, option("top_logprobs", 2), "top_logprobs", "`logprobs` must be set to true."},
		"top_logprobs 21":        {completions, asked(vllmModel, "a", object{"logprobs": true, "top_logprobs": 21}), "top_logprobs", "between 0 and 20"},
		"stream_options":         {completions, option("stream_options", object{"include_usage": true}), "stream_options", "Stream options can only be defined when `stream=True`."},
		"tools":                  {completions, option("tools", []any{object{"type": "function"}}), "tool_choice", "\\\"auto\\\" tool choice requires --enable-auto-tool-choice"},
		"tool_choice":            {completions, option("tool_choice", "required"), "tool_choice", "is not supported!"},
		"response_format":        {completions, option("response_format", object{"type": "json_object"}), "response_format", "guided decoding"},
		"json_schema":            {completions, option("response_format", object{"type": "json_schema", "json_schema": object{}}), "response_format", "guided decoding"},
		"guided_json":            {completions, option("guided_json", object{"type": "object"}), "guided_json", "guided decoding"},
		"guided_choice":          {completions, option("guided_choice", []string{"a"}), "guided_choice", "guided decoding"},
		"nvext":                  {completions, option("nvext", object{"guided_json": object{}}), "nvext", "guided decoding"},
		"logit_bias":             {completions, option("logit_bias", object{"5": 1}), "logit_bias", "not supported"},
		"prompt_logprobs":        {completions, option("prompt_logprobs", 1), "prompt_logprobs", "not supported"},
		"continue and generate":  {completions, option("continue_final_message", true), "continue_final_message", "Cannot set both"},
		"presence, other engine": {completions, asked(ensembleModel, "a", object{"presence_penalty": 1}), "presence_penalty", "`presence_penalty` is not supported by this model."},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := s.post(test.path, test.body)
			var e chat.Error
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatalf("%d %v: %s", status, err, text)
			}
			if status != 400 || e.Object != "error" || e.Type != "BadRequestError" || e.Code != 400 || e.Error.Message != e.Message || e.Error.Object != "error" {
				t.Errorf("not the documented form: %d %s", status, text)
			}
			if !strings.Contains(text, test.text) || len(text) > 4096 {
				t.Errorf("%q is not in %.500s", test.text, text)
			}
			param := ""
			if e.Param != nil {
				param = *e.Param
			}
			if test.param != "-" && param != test.param {
				t.Errorf("param %q, want %q: %s", param, test.param, text)
			}
		})
	}
	if res := answered[openai.Completion](s, completions, said(vllmModel, nil, "still here")); res.Choices[0].Message.Content != "still here" {
		t.Error("the service does not answer any more")
	}
}

// TestHarmless are requests that clients in use send and that must be served.
func TestHarmless(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	for name, extra := range map[string]object{
		"nulls": {"max_tokens": nil, "temperature": nil, "stop": nil, "stream": nil, "tools": nil, "tool_choice": nil, "response_format": nil,
			"n": nil, "logprobs": nil, "stream_options": nil, "seed": nil, "logit_bias": nil},
		"defaults": {"n": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0, "stream": false, "response_format": object{"type": "text"},
			"tool_choice": "none", "top_logprobs": 0, "logprobs": false, "top_k": -1, "repetition_penalty": 1.0, "min_p": 0},
		"company":    {"user": "u", "metadata": object{"a": "b"}, "store": false, "service_tier": "auto", "parallel_tool_calls": true, "tools": []any{}},
		"tools off":  {"tools": []any{object{"type": "function"}}, "tool_choice": "none"},
		"big tokens": {"max_tokens": 1024},
	} {
		for _, model := range []string{vllmModel, ensembleModel} {
			if status, text := s.post("/v1/chat/completions", said(model, extra, "ok")); status != 200 {
				t.Errorf("%s, %s: %d %s", name, model, status, text)
			}
		}
	}
	turns := object{"model": vllmModel, "messages": []any{
		object{"role": "developer", "content": "Be brief."},
		object{"role": "user", "content": []any{textPart("a"), textPart("b")}, "name": "n"},
		object{"role": "assistant", "content": "c", "refusal": nil, "tool_calls": []any{}},
		object{"role": "user", "content": `script {"say": ["ok"]}`},
	}}
	if status, text := s.post("/v1/chat/completions", turns); status != 200 {
		t.Errorf("turns: %d %s", status, text)
	}
}

// TestService holds what is neither an answer nor a refusal.
func TestService(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	for path, want := range map[string]string{
		"/v1/health/ready": `{"object":"health.response","message":"Service is ready."}`,
		"/v1/health/live":  `{"object":"health.response","message":"Service is live."}`,
	} {
		if status, text := s.get(path); status != 200 || text != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	_, text := s.get("/v1/models")
	var list struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Data) != 3 {
		t.Fatalf("%v %s", err, text)
	}
	card := list.Data[2]
	permission := card["permission"].([]any)[0].(map[string]any)
	if id, _ := permission["id"].(string); !strings.HasPrefix(id, "modelperm-") {
		t.Errorf("permission %v", permission)
	}
	delete(permission, "id")
	same(t, card, `{"id": "test/scripted-vllm", "object": "model", "created": 1760000000, "owned_by": "test", "root": "test/scripted-vllm",
		"parent": null, "max_model_len": 512, "permission": [{"object": "model_permission", "created": 1760000000,
		"allow_create_engine": false, "allow_sampling": true, "allow_logprobs": true, "allow_search_indices": false, "allow_view": true,
		"allow_fine_tuning": false, "organization": "*", "group": null, "is_blocking": false}]}`)
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		`{"model":"nobody/nothing","messages":[{"role":"user","content":"a"}]}`:               {404, "The model `nobody/nothing` does not exist."},
		`{"model":"nobody/nothing","messages":[{"role":"user","content":"a"}],"stream":true}`: {404, `"type":"NotFoundError"`},
	} {
		if status, text := s.post("/v1/chat/completions", body); status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%d %s", status, text)
		}
	}
	if status, text := s.get("/nowhere"); status != 404 || !strings.Contains(text, `"type":"NotFoundError"`) {
		t.Errorf("%d %s", status, text)
	}
}

// TestPressure holds limits of time, load and size.
func TestPressure(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, func(_ *chat.Config, limits *gateway.Config) {
		limits.Timeout, limits.Concurrency, limits.Queue, limits.BodyLimit = 1500*time.Millisecond, 1, 0, 100_000
	})
	slow := `{"say": ["a", "b", "c", "d", "e", "f", "g", "h"], "delay_ms": 300}`
	got := s.events("/v1/chat/completions", told(vllmModel, slow, object{"stream": true}))
	if last := len(got) - 1; last < 2 || got[last] != "[DONE]" || !strings.Contains(got[last-1], "GatewayTimeoutError") {
		t.Errorf("a stream beyond its time: %q", got)
	}
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		s.events("/v1/chat/completions", told(vllmModel, slow, object{"stream": true}))
	}()
	time.Sleep(100 * time.Millisecond)
	res, err := http.Post(s.url+"/v1/chat/completions", "application/json", encoded(t, said(vllmModel, nil, "a")))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := read(t, res); status != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(text, "ServiceUnavailableError") {
		t.Errorf("beyond capacity: %d %s", status, text)
	}
	<-busy
	if status, text := s.post("/v1/chat/completions", fmt.Sprintf(`{"model":"%0200000d"}`, 0)); status != 413 || !strings.Contains(text, "RequestEntityTooLargeError") {
		t.Errorf("a body too large: %d %s", status, text)
	}
}
