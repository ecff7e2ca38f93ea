package latent

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Row is a list in an answer that is null, and not empty, where a molecule was skipped.
type Row[T any] []T

// MarshalJSONTo writes null for nil.
func (r Row[T]) MarshalJSONTo(to *jsontext.Encoder) error {
	if r == nil {
		return to.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(to, []T(r))
}
