// Package provenance records how an answer was made, so that it can be made again and compared.
//
// Terms:
//
//   - manifest: the record of one answer.
//   - effective request: the body of a request with the defaults filled in, and the seed that was drawn if it had none.
//   - canonical form: the JSON of an answer as RFC 8785 writes it, without the members that differ each time.
//   - document: JSON with a manifest, alone or in the answer that it describes.
package provenance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is the member of an answer that has its manifest.
const Member = "manifest"

// Header asks for a manifest of the answer, as its member manifest: "true" or "false". A body can ask for one too, if its
// request type has a member of this name.
const Header = "X-Retort-Manifest"

// Format is the version of the form of manifests.
const Format = 1

// Manifest says how an answer was made. It has no keys, no headers and no paths of files.
type Manifest struct {
	Format int    `json:"format"`
	API    string `json:"api"`
	// Path is the path of the endpoint on the main port.
	Path string `json:"path"`
	// Request is the effective request.
	Request jsontext.Value `json:"request"`
	// AnswerSHA256 is the SHA-256 of the canonical form of the answer.
	AnswerSHA256 string `json:"answer_sha256"`
	// Unfinished is why the answer is incomplete; "" for a complete one. It depends on time.
	Unfinished string `json:"unfinished,omitempty"`
	// Evaluations is the number of molecules that the objective scored.
	Evaluations int64 `json:"evaluations,omitzero"`
	// Models are the entries of the model repository that were called, oracles included, sorted by name.
	Models []Model `json:"models"`
	// Software has the versions of programs and libraries by name, as far as they are known.
	Software map[string]string `json:"software"`
}

// Model is an entry of the model repository that was called.
type Model struct {
	ID    string `json:"id"`    // public id
	Entry string `json:"entry"` // name in the repository
	API   string `json:"api"`   // that the entry serves, such as "latent" or "oracle"
	// Version is the newest version that Triton has loaded.
	Version string `json:"version"`
	// SHA256 is the digest of the entry's files, as retort version prints it; "" if the gateway cannot read them.
	SHA256 string `json:"sha256,omitempty"`
	Rows   int64  `json:"rows"` // given to the model: texts, pairs, molecules
}

// ErrNoObject means that an answer is no JSON object and so cannot have a member.
var ErrNoObject = errors.New("the answer is no JSON object")

// Attach returns an answer with its manifest as the last member. It sets AnswerSHA256.
func (m Manifest) Attach(answer []byte) ([]byte, error) {
	answer = bytes.TrimSpace(answer)
	if len(answer) == 0 || answer[0] != '{' {
		return nil, ErrNoObject
	}
	var err error
	if m.AnswerSHA256, err = Digest(answer); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	isEmpty := len(bytes.TrimSpace(answer[1:len(answer)-1])) == 0
	result := make([]byte, 0, len(answer)+len(text)+len(Member)+4)
	result = append(result, answer[:len(answer)-1]...)
	if !isEmpty {
		result = append(result, ',')
	}
	result = append(result, `"`+Member+`":`...)
	result = append(result, text...)
	return append(result, '}'), nil
}

// volatile are the members that differ in equal answers: names of answers and of their parts, and times.
var volatile = []string{"id", "call_id", "item_id", "created", "created_at", "completed_at"}

// Digest returns the SHA-256 of the canonical form of an answer, in hexadecimal digits.
func Digest(answer []byte) (string, error) {
	canonical, err := canonicalize(answer)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// canonicalize returns the canonical form of an answer: RFC 8785 without the member manifest, and at any depth without
// volatile members.
func canonicalize(answer []byte) (jsontext.Value, error) {
	var stable bytes.Buffer
	stable.Grow(len(answer) + 1) // for the line break at its end
	from := jsontext.NewDecoder(bytes.NewReader(answer))
	to := jsontext.NewEncoder(&stable)
	for {
		kind, length := from.StackIndex(from.StackDepth())
		isName := kind == '{' && length%2 == 0
		token, err := from.ReadToken()
		if err == io.EOF {
			break
		}
		if err == nil && isName && token.Kind() == '"' && isLeftOut(token.String(), from.StackDepth()) {
			if err := from.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil {
			err = to.WriteToken(token)
		}
		if err != nil {
			return nil, err
		}
	}
	canonical := jsontext.Value(stable.Bytes())
	return canonical, canonical.Canonicalize()
}

// isLeftOut reports whether the canonical form leaves a member out.
func isLeftOut(name string, depth int) bool {
	return slices.Contains(volatile, name) || name == Member && depth == 1
}
