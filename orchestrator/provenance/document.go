package provenance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document is a manifest, and the answer if the document has it.
type Document struct {
	Manifest Manifest
	Answer   jsontext.Value // with the manifest; nil for a manifest alone
}

// Bounds, since a file may come from anyone.
const (
	maxDocuments = 100_000   // of one file
	maxDocument  = 128 << 20 // bytes
	maxModels    = 1000      // of one manifest
)

// ReadDocuments returns the documents of a file: one, or several after each other, such as one per line. They are
// checked. An error is the last item.
func ReadDocuments(from io.Reader) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		limited := &io.LimitedReader{R: from}
		decoder := jsontext.NewDecoder(limited)
		for number := 1; ; number++ {
			limited.N = maxDocument
			text, err := decoder.ReadValue()
			if err != nil && limited.N <= 0 {
				err = fmt.Errorf("more than %d bytes", maxDocument)
			}
			if errors.Is(err, io.EOF) && number > 1 {
				return
			}
			if err == nil && number > maxDocuments {
				err = fmt.Errorf("more than %d documents", maxDocuments)
			}
			var document Document
			switch {
			case errors.Is(err, io.EOF):
				err = errors.New("it is empty")
			case err == nil:
				document, err = parseDocument(bytes.Clone(text))
			}
			if err != nil {
				yield(document, fmt.Errorf("document %d: %w", number, err))
				return
			}
			if !yield(document, nil) {
				return
			}
		}
	}
}

func parseDocument(text jsontext.Value) (document Document, err error) {
	if text.Kind() != '{' {
		return document, errors.New("it is no JSON object")
	}
	var members struct {
		Manifest jsontext.Value `json:"manifest"`
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return document, err
	}
	manifest := text
	if members.Manifest != nil {
		document.Answer = text
		manifest = members.Manifest
	}
	if err := json.Unmarshal(manifest, &document.Manifest); err != nil {
		return document, fmt.Errorf("manifest: %w", err)
	}
	if err := document.Manifest.check(); err != nil {
		return document, err
	}
	if document.Answer == nil {
		return document, nil
	}
	digest, err := Digest(document.Answer)
	if err == nil && digest != document.Manifest.AnswerSHA256 {
		err = errors.New("answer_sha256: the answer in the document has another SHA-256: one of the two was changed")
	}
	return document, err
}

var (
	// replayable are the paths of endpoints whose answers have manifests. Requests to them change nothing, except that
	// some are stored as jobs or as responses of their caller.
	replayable = regexp.MustCompile(`^(/latent|/masked|/embedding|/ranking|/chat)?(/v1|/v2|/v1/openai/v1|/alpha|/experimental/ls)?/` +
		`(generate|generate/jobs|sampling|embedding|hidden|decode|embeddings|ranking|reranking|rerank|` +
		`retrieval(/[\w-][\w.-]*)+/reranking|completions|chat/completions|responses|messages|messages/count_tokens|` +
		`tokenize|detokenize|inference/chat_completion|inference/chat-completion)$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check returns an error that names the member at fault.
func (m *Manifest) check() error {
	switch {
	case m.Format == 0:
		return errors.New("format: there is none, so it is no manifest")
	case m.Format != Format:
		return fmt.Errorf("format: it is %d, and this program reads %d", m.Format, Format)
	case !replayable.MatchString(m.Path):
		return fmt.Errorf("path: %.200q is no endpoint that answers with manifests", m.Path)
	case m.Request.Kind() != '{':
		return errors.New("request: it is no JSON object")
	case !digestForm.MatchString(m.AnswerSHA256):
		return errors.New("answer_sha256: it is no SHA-256 in hexadecimal digits")
	case len(m.Models) > maxModels:
		return fmt.Errorf("models: there are %d, and at most %d are allowed", len(m.Models), maxModels)
	}
	return nil
}
