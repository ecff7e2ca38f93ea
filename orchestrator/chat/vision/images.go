package vision

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
)

// Source is the origin of an image: a data:, http: or https: URL, or a file in base64.
type Source struct {
	URL    string
	Base64 string
	// Path locates the image in the request, for faults.
	Path []any
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

// Bytes of memory that one byte takes until the request ends.
const (
	fileWeight   = 6 // of a file: itself, its base64 three times on its way to the engine, and garbage
	tensorWeight = 2 // of a tensor: itself and the request to the engine
)

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
			img, err := s.load(ctx, source)
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

func (s *Images) load(ctx context.Context, source Source) (*Image, error) {
	file, err := s.file(ctx, source)
	if err != nil {
		return nil, err
	}
	img, rewritten, err := s.loader.normalize(ctx, file)
	if err == nil && rewritten {
		err = s.reserve(ctx, fileWeight*int64(len(img.File)))
	}
	return img, err
}

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
