package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// apiDescription is the part of an OpenAPI description that the schemas of tools need.
type apiDescription struct {
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

// Prefixes of references between schemas, in a description and in a schema that stands alone.
const (
	components  = "#/components/schemas/"
	definitions = "#/$defs/"
)

// read reads the description that an API serves.
func (d *apiDescription) read(ctx context.Context, callAPI CallAPI, api string) error {
	status, text := callAPI(ctx, api, http.MethodGet, "/openapi.json", nil)
	if status != http.StatusOK {
		return fmt.Errorf("%s: its description is answered with status %d", api, status)
	}
	return json.Unmarshal([]byte(strings.ReplaceAll(string(text), components, definitions)), d)
}

// arguments returns the schema of a path's body without the members in omit, with all schemas that it refers to.
func (d *apiDescription) arguments(path string, omit []string) (map[string]any, error) {
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
	referenced := map[string]any{}
	d.collect(schema, referenced)
	if len(referenced) > 0 {
		schema["$defs"] = referenced
	}
	return schema, nil
}

// collect adds the schemas that a part of a schema refers to, directly or not, to referenced.
func (d *apiDescription) collect(part any, referenced map[string]any) {
	switch part := part.(type) {
	case map[string]any:
		if name, isReference := part["$ref"].(string); isReference {
			name = strings.TrimPrefix(name, definitions)
			if _, known := referenced[name]; !known {
				referenced[name] = d.Components.Schemas[name]
				d.collect(d.Components.Schemas[name], referenced)
			}
		}
		for _, inner := range part {
			d.collect(inner, referenced)
		}
	case []any:
		for _, inner := range part {
			d.collect(inner, referenced)
		}
	}
}

// defaultOf returns the default of a number in a schema, or 0.
func defaultOf(schema map[string]any, name string) float64 {
	properties, _ := schema["properties"].(map[string]any)
	property, _ := properties[name].(map[string]any)
	value, _ := property["default"].(float64)
	return value
}
