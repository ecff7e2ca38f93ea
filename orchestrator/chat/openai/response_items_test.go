package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/wire"
)

// FuzzItems checks that the decoder of a response's input never panics, that all its errors are *wire.Mismatch, and
// that items that were stored are the same when they are read again.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{
		`"a"`, `[]`, `5`, `[{}]`, `[5]`, `[{"role":"user","content":"a"}]`, `[{"type":"reasoning","id":"rs_1","summary":[]}]`,
		`[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"phase":"commentary"}]`,
		`[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}],"id":null,"status":null}]`,
		`[{"type":"function_call","call_id":"1","name":"a","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"b"}]}]`,
		`[{"type":"function_call_output","call_id":"1","output":"b"}]`, `["\ud800"]`, `[{"role":"user","content":null}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !jsontext.Value(text).IsValid() {
			return // package bind passes valid JSON only
		}
		var items Items
		err := items.UnmarshalJSON([]byte(text))
		var mismatch *wire.Mismatch
		if err != nil && !errors.As(err, &mismatch) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			return
		}
		stored, err := json.Marshal(items.stored())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var again Items
		if err := again.UnmarshalJSON(stored); err != nil {
			t.Fatalf("%s is stored as %s: %v", text, stored, err)
		}
		for i := range items {
			items[i].Raw = nil
			again[i].Raw = nil
			if !reflect.DeepEqual(items[i], again[i]) {
				t.Errorf("%s is stored as %s", text, stored)
			}
		}
	})
}

// TestStoredTextsKeepTheirLength checks that contents and requests that are stored are about as long as the client's.
func TestStoredTextsKeepTheirLength(t *testing.T) {
	var r ResponseRequest
	for _, input := range []string{`"%s"`, `[{"role": "user", "content": [{"type": "input_text", "text": "%s"}]}]`} {
		text := fmt.Sprintf(`{"model": "m", "input": `+input+`}`, strings.Repeat("<p>&", 5000))
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		start, err := content{r.newResponse(), r.Input.stored()}.encode()
		if err != nil {
			t.Fatal(err)
		}
		end, err := FinishResponse(start, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		request, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		for name, stored := range map[string][]byte{"start": start, "end": end, "request": request} {
			if len(stored) > len(text)+2000 {
				t.Errorf("%s: %d bytes are stored of a request of %d", name, len(stored), len(text))
			}
		}
	}
}

// TestNestedRequestsAreNotStored has a request at the limit of nesting, whose stored response could not be read again.
func TestNestedRequestsAreNotStored(t *testing.T) {
	const most = 10_000 // levels that encoding/json reads
	for added, wantErr := range map[int]bool{-4: false, -3: true} {
		levels := most + added
		text := `{"model": "m", "input": "a", "tools": [{"type": "function", "name": "f", "parameters": ` +
			strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}]}`
		var r ResponseRequest
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		start, err := content{r.newResponse(), r.Input.stored()}.encode()
		if (err != nil) != wantErr {
			t.Errorf("%d levels: %v", levels, err)
		}
		if err == nil {
			if _, err := FinishResponse(start, 0, nil); err != nil {
				t.Errorf("%d levels: %v", levels, err)
			}
		}
	}
}

// TestListedItemsHaveDistinctIDs has items that the client sends twice, and ids that look like those of repetitions.
func TestListedItemsHaveDistinctIDs(t *testing.T) {
	var items []json.RawMessage
	for _, id := range []string{"a", "a", "a_1", "", "a_4", "a"} {
		items = append(items, json.RawMessage(`{"id":"`+id+`","n":1}`))
	}
	ids := makeDistinct(items)
	for i, id := range ids {
		if slices.Index(ids, id) != i || itemID(items[i]) != id || !strings.Contains(string(items[i]), `"n":1`) {
			t.Errorf("item %d of %v is %s", i, ids, items[i])
		}
	}
	if ids[0] != "a" {
		t.Errorf("the first is %s, as the client sent a", ids[0])
	}
}
