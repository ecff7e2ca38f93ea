package vision

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
)

// Source is where an image comes from: a data:, http: or https: URL, or a file in base64.
type Source struct {
	URL    string
	Base64 string
	// Path is where the request has the image, as the path of a fault.
	Path []any
}

// Set are the images of one request. A nil Set has none.
type Set struct {
	loader *Loader
	images []*Image
	// request ends with the request: what the set holds of the memory budget is given back then.
	request context.Context
	fetched atomic.Int64 // bytes of the files that were fetched
}

// What a byte costs in memory until the request has been answered.
const (
	fileWeight   = 6 // itself, its base64 on the way to the engine three times, and Go's garbage
	tensorWeight = 2 // itself and the request to the engine
)

// All returns the images in the order of their sources.
func (s *Set) All() []*Image {
	if s == nil {
		return nil
	}
	return s.images
}

// Load returns the images of a request, checked, whole and flat, a few at a time. What is wrong with one is an Invalid
// fault at its place. ctx must end with the request: the memory that the images take is counted until then.
func (l *Loader) Load(ctx context.Context, sources []Source) (*Set, error) {
	const atOnce = 4
	s := &Set{loader: l, images: make([]*Image, len(sources)), request: ctx}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for i, source := range sources {
		work.Go(fault.Guard(func() error {
			img, err := s.load(ctx, source)
			if err != nil {
				return at(err, source.Path)
			}
			img.place = source.Path
			s.images[i] = img
			return nil
		}))
	}
	return s, work.Wait()
}

// at adds the place of an image to what is wrong with it.
func at(err error, place []any) error {
	if f := fault.As(err); f.Kind == fault.Invalid {
		return f.Under(place...)
	}
	return err
}

func (s *Set) load(ctx context.Context, source Source) (*Image, error) {
	file, err := s.file(ctx, source)
	if err != nil {
		return nil, err
	}
	img, rewritten, err := s.loader.open(ctx, file)
	if err == nil && rewritten {
		err = s.hold(ctx, fileWeight*int64(len(img.File)))
	}
	return img, err
}

// hold takes bytes of the memory budget until the request ends.
func (s *Set) hold(ctx context.Context, bytes int64) error {
	release, err := s.loader.memory.Acquire(ctx, bytes)
	if err == nil {
		context.AfterFunc(s.request, release)
	}
	return err
}

// holdFetched takes memory for more bytes of a file that is being fetched, and refuses what is beyond the limit of one
// request.
func (s *Set) holdFetched(ctx context.Context, bytes int64) error {
	most := int64(s.loader.config.FetchTotal)
	if s.fetched.Add(bytes) > most {
		return fault.New(fault.Invalid, "the images fetched for one request are larger than %d bytes together", most)
	}
	return s.hold(ctx, fileWeight*bytes)
}
