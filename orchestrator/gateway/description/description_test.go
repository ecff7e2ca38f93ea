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
