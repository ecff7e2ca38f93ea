// Package description serves an API's OpenAPI description and the pages made of it: /openapi.json, /docs and /llms.txt.
package description

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
)

//go:embed service.yaml
var serviceYAML []byte

// Source is what the description of an API is composed of.
type Source struct {
	OpenAPI  []byte // the API's own part, in YAML
	Version  string // of the program
	NeedsKey bool   // requests need a bearer key
	// Manifests says that answers can have manifests.
	Manifests bool
}

// compose returns the description as JSON, with its title. It adds to the API's own part the paths that every API has
// (service.yaml), the version and, if the API has them, manifests and the bearer scheme.
func (s Source) compose() (text []byte, title string, err error) {
	spec, err := readYAML(s.OpenAPI)
	if err != nil {
		return nil, "", fmt.Errorf("openapi.yaml: %w", err)
	}
	shared, err := readYAML(serviceYAML)
	if err != nil {
		return nil, "", fmt.Errorf("service.yaml: %w", err)
	}
	info := spec.section("info")
	_ = json.Unmarshal(info.get("title"), &title) // without one the page has no title
	info.set("version", jsonOf(s.Version))
	spec.set("info", info.text())
	paths := spec.section("paths")
	for _, path := range shared.section("paths") {
		if paths.get(path.name) == nil {
			paths.set(path.name, path.value)
		}
	}
	if s.Manifests {
		spec.addManifests(paths, shared.section("components"))
	}
	if s.NeedsKey {
		spec.secure(paths)
	}
	spec.set("paths", paths.text())
	return spec.text(), title, nil
}

// secure declares the bearer scheme for every operation except the health probes, which need no key.
func (o *object) secure(paths object) {
	components := o.section("components")
	schemes := components.section("securitySchemes")
	schemes.set("bearer", jsonOf(map[string]string{
		"type": "http", "scheme": "bearer", "description": "One of the keys that the operator gave out.",
	}))
	components.set("securitySchemes", schemes.text())
	o.set("components", components.text())
	o.set("security", jsontext.Value(`[{"bearer":[]}]`))
	for i := range paths {
		if strings.HasPrefix(paths[i].name, "/v1/health/") {
			methods := readObject(paths[i].value)
			get := methods.section("get")
			get.set("security", jsontext.Value(`[]`))
			methods.set("get", get.text())
			paths[i].value = methods.text()
		}
	}
}

// addManifests adds the shared components, and the header that asks for a manifest to every POST with a body that is
// answered with an object: without a body there is no request to record.
func (o *object) addManifests(paths, shared object) {
	components := o.section("components")
	for _, kind := range shared {
		merged := components.section(kind.name)
		for _, component := range readObject(kind.value) {
			merged.set(component.name, component.value)
		}
		components.set(kind.name, merged.text())
	}
	o.set("components", components.text())
	for i := range paths {
		methods := readObject(paths[i].value)
		post := methods.section("post")
		if post.get("requestBody") == nil || !o.answersObject(post) {
			continue
		}
		var parameters []jsontext.Value
		_ = json.Unmarshal(post.get("parameters"), &parameters) // there may be none
		parameters = append(parameters, jsontext.Value(`{"$ref":"#/components/parameters/Manifest"}`))
		post.set("parameters", jsonOf(parameters))
		methods.set("post", post.text())
		paths[i].value = methods.text()
	}
}

// answersObject reports whether the schema of an operation's answer is the schema of an object.
func (o *object) answersObject(operation object) bool {
	response := o.resolve(operation.section("responses").get("200"))
	schema := o.resolve(response.section("content").section("application/json").get("schema"))
	return string(schema.get("type")) == `"object"`
}

// resolve returns an object or, if it is a reference to a component, the component.
func (o *object) resolve(text jsontext.Value) object {
	found := readObject(text)
	var reference string
	if json.Unmarshal(found.get("$ref"), &reference) != nil {
		return found
	}
	component := *o
	for step := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		component = component.section(step)
	}
	return component
}

// object is a JSON object whose members keep their order, which the page shows.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// readYAML reads a YAML mapping and resolves its aliases.
func readYAML(text []byte) (object, error) {
	converted, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	if !jsontext.Value(converted).IsValid() { // merge keys can lead to duplicate members, which break the page
		return nil, errors.New("no valid JSON, or a duplicate member")
	}
	return readObject(converted), nil
}

// readObject reads a valid JSON object. Any other text gives an empty one.
func readObject(text jsontext.Value) (o object) {
	members := jsontext.NewDecoder(bytes.NewReader(text))
	if start, err := members.ReadToken(); err != nil || start.Kind() != '{' {
		return nil
	}
	for members.PeekKind() == '"' {
		name, err := members.ReadToken()
		if err != nil {
			return o
		}
		field := member{name: name.String()}
		value, err := members.ReadValue()
		if err != nil {
			return o
		}
		field.value = value.Clone()
		o = append(o, field)
	}
	return o
}

// section returns the object under a name, empty if there is none.
func (o object) section(name string) object { return readObject(o.get(name)) }

// get returns the value under a name, nil if there is none.
func (o object) get(name string) jsontext.Value {
	for _, field := range o {
		if field.name == name {
			return field.value
		}
	}
	return nil
}

// set replaces the value of a member, or appends the member.
func (o *object) set(name string, value jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{name, value})
}

// text returns the object as JSON.
func (o object) text() jsontext.Value {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, field := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		text.Write(jsonOf(field.name))
		text.WriteByte(':')
		text.Write(field.value)
	}
	text.WriteByte('}')
	return text.Bytes()
}

// jsonOf encodes texts, or lists or maps of them, which cannot fail.
func jsonOf(value any) jsontext.Value {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return text
}
