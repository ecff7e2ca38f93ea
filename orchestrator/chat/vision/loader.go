package vision

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
)

// Source is the origin of an image: a data:, http: or https: URL, or a file in base64.
type Source struct {
	URL    string
	Base64 string
	// Path locates the image in the request, for faults.
	Path []any
}

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

// Images are the images of one request. A nil Images has none.
type Images struct {
	loader *Loader
	images []*Image
	// request is the context of the request. When it ends, the memory of the images no longer counts against the
	// budget.
	request context.Context
	fetched atomic.Int64 // bytes of the files that were fetched
}

// All returns the images in the order of their sources.
func (s *Images) All() []*Image {
	if s == nil {
		return nil
	}
	return s.images
}

// Load loads, checks and flattens the images of a request, a few at a time. A bad image is an Invalid fault with the
// Path of its source. ctx must end with the request: until then the images count against the memory budget.
func (l *Loader) Load(ctx context.Context, sources []Source) (*Images, error) {
	const concurrency = 4
	s := &Images{loader: l, images: make([]*Image, len(sources)), request: ctx}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(concurrency)
	for i, source := range sources {
		work.Go(fault.WithRecover(func() error {
			img, err := s.loadImage(ctx, source)
			if err != nil {
				return withPath(err, source.Path)
			}
			img.path = source.Path
			s.images[i] = img
			return nil
		}))
	}
	return s, work.Wait()
}

// withPath prepends the path of an image to an Invalid fault.
func withPath(err error, path []any) error {
	if f := fault.As(err); f.Kind == fault.Invalid {
		return f.Under(path...)
	}
	return err
}

// loadImage loads, checks and flattens one image.
func (s *Images) loadImage(ctx context.Context, source Source) (*Image, error) {
	file, err := s.readSource(ctx, source)
	if err != nil {
		return nil, err
	}
	img, rewritten, err := s.loader.normalize(ctx, file)
	if err == nil && rewritten {
		err = s.reserve(ctx, fileWeight*int64(len(img.File)))
	}
	return img, err
}

// readSource returns the image file of a source.
func (s *Images) readSource(ctx context.Context, from Source) ([]byte, error) {
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

// Bytes of memory that one byte takes until the request ends.
const (
	fileWeight   = 6 // of a file: itself, its base64 three times on its way to the engine, and garbage
	tensorWeight = 2 // of a tensor: itself and the request to the engine
)

// reserve takes bytes of the memory budget until the request ends.
func (s *Images) reserve(ctx context.Context, bytes int64) error {
	release, err := s.loader.memory.Acquire(ctx, bytes)
	if err == nil {
		context.AfterFunc(s.request, release)
	}
	return err
}

// reserveFetched reserves memory for more bytes of a file that is being fetched. It refuses more than FetchTotal for
// one request.
func (s *Images) reserveFetched(ctx context.Context, bytes int64) error {
	limit := int64(s.loader.config.FetchTotal)
	if s.fetched.Add(bytes) > limit {
		return fault.New(fault.Invalid, "the images fetched for one request are larger than %d bytes together", limit)
	}
	return s.reserve(ctx, fileWeight*bytes)
}
