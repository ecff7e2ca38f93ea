package gateway

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

// description is the API's description as JSON, and its title: its own file, what every API answers (service.yaml), the
// version of the program, and the bearer scheme where keys are asked for.
func (g *Gateway) description() (text []byte, title string, err error) {
	own, err := readYAML(g.api.OpenAPI())
	if err != nil {
		return nil, "", fmt.Errorf("openapi.yaml: %w", err)
	}
	shared, err := readYAML(serviceYAML)
	if err != nil {
		return nil, "", fmt.Errorf("service.yaml: %w", err)
	}
	info := own.section("info")
	_ = json.Unmarshal(info.get("title"), &title) // a page without a title is a page
	info.set("version", jsonOf(g.opts.Version))
	own.set("info", info.text())
	paths := own.section("paths")
	for _, path := range shared.section("paths") {
		paths.set(path.name, path.value)
	}
	if g.opts.Keys != nil {
		own.secure(paths)
	}
	own.set("paths", paths.text())
	return own.text(), title, nil
}

// secure declares the bearer scheme for every operation but the probes: see authorize.
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

// object is a JSON object whose members keep their order, which is that of the documentation page.
type object []described

type described struct {
	name  string
	value jsontext.Value
}

// readYAML reads a YAML mapping. Its aliases are replaced by what they stand for.
func readYAML(text []byte) (object, error) {
	converted, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	if !jsontext.Value(converted).IsValid() { // Members that occur twice, as merged ones do, break the page.
		return nil, errors.New("no valid JSON, or a member occurs twice")
	}
	return readObject(converted), nil
}

// readObject reads a valid JSON object; anything else is an empty one.
func readObject(text jsontext.Value) (o object) {
	members := jsontext.NewDecoder(bytes.NewReader(text))
	if begin, err := members.ReadToken(); err != nil || begin.Kind() != '{' {
		return nil
	}
	for members.PeekKind() == '"' {
		name, err := members.ReadToken()
		if err != nil {
			return o
		}
		field := described{name: name.String()}
		value, err := members.ReadValue()
		if err != nil {
			return o
		}
		field.value = value.Clone()
		o = append(o, field)
	}
	return o
}

// section is the object under a name, empty where there is none.
func (o object) section(name string) object { return readObject(o.get(name)) }

// get is the value under a name, nil where there is none.
func (o object) get(name string) jsontext.Value {
	for _, field := range o {
		if field.name == name {
			return field.value
		}
	}
	return nil
}

// set gives a member its value, in its place or at the end.
func (o *object) set(name string, value jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, described{name, value})
}

// text is the object as JSON.
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

// jsonOf encodes a text or a map of texts, which cannot fail.
func jsonOf(value any) jsontext.Value {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return text
}
