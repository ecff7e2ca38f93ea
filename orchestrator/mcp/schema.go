package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// description is what of an API's OpenAPI description makes schemas.
type description struct {
	Paths map[string]struct {
		Post struct {
			RequestBody struct {
				Content map[string]struct {
					Schema map[string]any `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"post"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

// Where schemas refer to each other in a description, and in a schema that stands alone.
const (
	components  = "#/components/schemas/"
	definitions = "#/$defs/"
)

// read takes the description that an API serves.
func (d *description) read(s *Service, api string) error {
	status, text := s.ask(s.life, api, http.MethodGet, "/openapi.json", nil)
	if status != http.StatusOK {
		return fmt.Errorf("%s: its description is answered with %d", api, status)
	}
	return json.Unmarshal([]byte(strings.ReplaceAll(string(text), components, definitions)), d)
}

// arguments is the schema of a body that a path takes, with all schemas that it refers to and without some members.
func (d *description) arguments(path string, omit []string) (map[string]any, error) {
	schema := d.Paths[path].Post.RequestBody.Content["application/json"].Schema
	if name, isReference := schema["$ref"].(string); isReference {
		schema = d.Components.Schemas[strings.TrimPrefix(name, definitions)]
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: its body is not described as an object", path)
	}
	for _, name := range omit {
		delete(properties, name)
	}
	found := map[string]any{}
	d.collect(schema, found)
	if len(found) > 0 {
		schema["$defs"] = found
	}
	return schema, nil
}

// collect adds the schemas that a part of one refers to, and those that they refer to.
func (d *description) collect(part any, found map[string]any) {
	switch part := part.(type) {
	case map[string]any:
		if name, isReference := part["$ref"].(string); isReference {
			name = strings.TrimPrefix(name, definitions)
			if _, known := found[name]; !known {
				found[name] = d.Components.Schemas[name]
				d.collect(d.Components.Schemas[name], found)
			}
		}
		for _, inner := range part {
			d.collect(inner, found)
		}
	case []any:
		for _, inner := range part {
			d.collect(inner, found)
		}
	}
}
