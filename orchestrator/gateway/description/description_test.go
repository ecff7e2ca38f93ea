package description

import (
	"strings"
	"testing"
)

// A description has the paths that every API has, the version of the program and, if requests need a key, the bearer
// scheme.
func TestDescription(t *testing.T) {
	openAPI := []byte("openapi: 3.1.0\ninfo:\n  title: Kitchen\n  version: '1'\n")
	source := Source{OpenAPI: openAPI, Version: "1.2.3", NeedsKey: true}
	text, title, err := source.compose()
	if err != nil || title != "Kitchen" {
		t.Fatal(title, err)
	}
	for _, want := range []string{
		`{"openapi":"3.1.0","info":{"title":"Kitchen","version":"1.2.3"},`,
		`"/v1/models/{id}":`, `"/v1/license":`, `"/v1/metrics":`,
		`"securitySchemes":{"bearer":{"description":"One of the keys that the operator gave out.",` +
			`"scheme":"bearer","type":"http"}}`,
		`"security":[{"bearer":[]}]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	source.NeedsKey = false
	if text, _, _ = source.compose(); strings.Contains(string(text), "bearer") {
		t.Error("the bearer scheme is declared though no key is needed")
	}
}

// Operations that answer a POST of a body with an object can be asked for manifests.
func TestManifestsInDescription(t *testing.T) {
	const openAPI = `
paths:
  /cook:
    post:
      parameters: [{ name: salt }]
      requestBody: {}
      responses: { '200': &dish { $ref: '#/components/responses/Dish' } }
  /cancel: { post: { responses: { '200': *dish } } }
  /list:
    post: { requestBody: {}, responses: { '200': { content: { application/json: { schema: { type: array } } } } } }
components:
  schemas: { Dish: { type: object } }
  responses: { Dish: { content: { application/json: { schema: { $ref: '#/components/schemas/Dish' } } } } }
`
	text, _, err := Source{OpenAPI: []byte(openAPI), Manifests: true}.compose()
	const parameter = `{"$ref":"#/components/parameters/Manifest"}`
	if err != nil || strings.Count(string(text), parameter) != 1 ||
		!strings.Contains(string(text), `"parameters":[{"name":"salt"},`+parameter+`]`) ||
		!strings.Contains(string(text), `,"Manifest":{"type"`) {
		t.Errorf("%.2000s, %v", text, err)
	}
	if text, _, _ = (Source{OpenAPI: []byte(openAPI)}).compose(); strings.Contains(string(text), "Manifest") {
		t.Error("manifests are described though there are none")
	}
}

// An index lists the endpoints of a description, the models before the optional links, and no empty section.
func TestIndex(t *testing.T) {
	const openAPI = `
info: { title: Kitchen, description: "Recipes in,\ndishes out.\n\nDishes are hot." }
paths:
  /v1/cook/{dish}:
    parameters: []
    post: { summary: Cook a dish }
  /metrics:
    get: { tags: [service] }
`
	index, err := IndexOf([]byte(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Kitchen

> Recipes in, dishes out.

Dishes are hot.

## Endpoints

- [OpenAPI description](openapi.json): all fields, limits, errors and examples
- [POST /v1/cook/{dish}](openapi.json#/paths/~1v1~1cook~1%7Bdish%7D/post): Cook a dish

## Models

- [lab/oven (new)](v1/models/lab/oven%20%28new%29)

## Optional

- [GET /metrics](openapi.json#/paths/~1metrics/get)
`
	if got := index.withModels([]string{"lab/oven (new)"}).String(); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if strings.Contains(index.withModels(nil).String(), "Models") {
		t.Error("a section without links is shown")
	}
}
