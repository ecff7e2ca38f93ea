package tools

import (
	"encoding/json"
	"testing"
)

// TestConflictingDefinitionsAreRenamed has two tools that define different types under the same name.
func TestConflictingDefinitionsAreRenamed(t *testing.T) {
	tool := func(name, kind string) Tool {
		return Tool{Name: name, Parameters: json.RawMessage(
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/Item"}},"$defs":{"Item":{"type":"` + kind + `"}}}`)}
	}
	var schema struct {
		Defs  map[string]struct{ Type string } `json:"$defs"`
		AnyOf []struct {
			Properties struct {
				Parameters struct {
					Properties map[string]map[string]string
				}
			}
		}
	}
	text := anySchema([]Tool{tool("one", "string"), tool("two", "integer")})
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"string", "integer"} {
		reference := schema.AnyOf[i].Properties.Parameters.Properties["a"]["$ref"]
		if kind := schema.Defs[reference[len("#/$defs/"):]].Type; kind != want {
			t.Errorf("tool %d refers to %s, which has type %q, want %q", i, reference, kind, want)
		}
	}
}
