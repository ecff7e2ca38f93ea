package vision

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"golang.org/x/sync/semaphore"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
)

// Loader gets images from their sources. It is safe for use by many goroutines.
type Loader struct {
	config  Config
	fetcher *fetcher
	pixels  *semaphore.Weighted // pixels being decoded
	memory  *memory.Budget      // of the process
}

// NewLoader returns a loader with the limits c, which must be valid. Files that are fetched or rewritten, and tensors
// of pixels, count against the process's memory budget unless it is nil.
func NewLoader(c Config, budget *memory.Budget) *Loader {
	return &Loader{
		config:  c,
		fetcher: newFetcher(c),
		pixels:  semaphore.NewWeighted(int64(c.DecodePixels)),
		memory:  budget,
	}
}

// file returns the image file of a source.
func (s *Images) file(ctx context.Context, from Source) ([]byte, error) {
	l := s.loader
	if from.Base64 != "" && from.URL == "" {
		return l.decodeBase64(from.Base64)
	}
	source := from.URL
	scheme, rest, found := strings.Cut(source, ":")
	switch {
	case !found:
		return nil, fault.New(fault.Invalid, "the image's URL has no scheme: data, http and https URLs are accepted")
	case strings.EqualFold(scheme, "data"):
		return l.decodeDataURL(rest)
	}
	u, err := url.Parse(source)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the image's URL is not valid")
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	if !l.config.Fetch {
		return nil, fault.New(fault.Invalid, "images are not fetched from URLs: send a data URL")
	}
	return l.fetcher.fetch(ctx, u, func(bytes int64) error { return s.reserveFetched(ctx, bytes) })
}

// decodeDataURL decodes the part of a data: URL after the scheme (RFC 2397). It ignores the media type.
func (l *Loader) decodeDataURL(rest string) ([]byte, error) {
	header, text, found := strings.Cut(rest, ",")
	if !found || len(header) > 1000 {
		return nil, fault.New(fault.Invalid, "the image's data URL has no comma between its type and its data")
	}
	if !strings.HasSuffix(strings.ToLower(strings.TrimSpace(header)), ";base64") {
		return nil, fault.New(fault.Invalid, "the image's data URL is not base64: it should begin with data:image/png;base64,")
	}
	return l.decodeBase64(text)
}

// decodeBase64 decodes base64, with or without padding and line breaks.
func (l *Loader) decodeBase64(text string) ([]byte, error) {
	if len(text)/4*3 > l.config.MaxBytes+l.config.MaxBytes/16 { // line breaks included
		return nil, tooManyBytes(l.config.MaxBytes)
	}
	if strings.ContainsAny(text, " \t\r\n") {
		text = strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(text)
	}
	file, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	switch {
	case err != nil:
		return nil, fault.Wrap(fault.Invalid, err, "the image's base64 is broken")
	case len(file) > l.config.MaxBytes:
		return nil, tooManyBytes(l.config.MaxBytes)
	}
	return file, nil
}
