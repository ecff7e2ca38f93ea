package chat_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

func maxTokens(r *triton.Request) int {
	if text := textInput(r, "sampling_parameters"); text != "" {
		var p struct {
			MaxTokens int `json:"max_tokens"`
		}
		_ = json.Unmarshal([]byte(text), &p)
		return p.MaxTokens
	}
	for _, name := range []string{"max_tokens", "sampling_param_max_tokens"} {
		if t, ok := tritontest.Input(r, name); ok {
			return intValue(t)
		}
	}
	return math.MaxInt
}

func textInput(r *triton.Request, name string) string {
	t, ok := tritontest.Input(r, name)
	if !ok {
		return ""
	}
	values, err := tritontest.Texts(t)
	if err != nil || len(values) == 0 {
		return ""
	}
	return values[0]
}

func boolInput(r *triton.Request, name string) bool {
	t, ok := tritontest.Input(r, name)
	if !ok {
		return false
	}
	values, err := triton.Values[bool](t)
	return err == nil && len(values) > 0 && values[0]
}

// inputsJSON returns the inputs of a request as JSON. Images are their sizes.
func inputsJSON(r *triton.Request) string {
	out := map[string]any{}
	for _, t := range r.Inputs {
		out[t.Name] = tensorJSON(t)
	}
	text, _ := json.Marshal(out)
	return string(text)
}

func tensorJSON(t triton.Tensor) any {
	switch t.Name {
	case "image", "image_url", "image_url_input":
		var sizes []any
		files, _ := tritontest.Texts(t)
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
		texts, _ := tritontest.Texts(t)
		return json.RawMessage(texts[0])
	}
	switch t.Datatype {
	case triton.BYTES:
		v, _ := tritontest.Texts(t)
		return v
	case triton.BOOL:
		v, _ := triton.Values[bool](t)
		return v
	case triton.FP32:
		v, _ := triton.Values[float32](t)
		rounded := make([]float64, len(v))
		for i, f := range v {
			rounded[i] = math.Round(float64(f)*1e4) / 1e4
		}
		return rounded
	}
	return []int{intValue(t)}
}

// sizeOf returns the width and height of a PNG file, else the first bytes of the file.
func sizeOf(file []byte) any {
	if len(file) < 24 || string(file[:8]) != "\x89PNG\r\n\x1a\n" {
		return fmt.Sprintf("%x", file[:min(4, len(file))])
	}
	at := func(i int) int { return int(file[i])<<24 | int(file[i+1])<<16 | int(file[i+2])<<8 | int(file[i+3]) }
	return []int{at(16), at(20)}
}

// intValue returns the number of an integer tensor.
func intValue(t triton.Tensor) int {
	switch values := t.Raw(); t.Datatype.Size() {
	case 4:
		return int(int32(binary.LittleEndian.Uint32(values)))
	default:
		return int(binary.LittleEndian.Uint64(values))
	}
}
