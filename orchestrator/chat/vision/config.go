package vision

import (
	"errors"
	"net/netip"
	"time"
)

// Config has the limits on images.
type Config struct {
	MaxBytes     int            `default:"20971520" help:"Largest image file, in bytes."`
	MaxPixels    int            `default:"33554432" help:"Most pixels of one image, width times height."`
	MaxSide      int            `default:"16384" help:"Longest side of an image, in pixels."`
	MinSide      int            `default:"8" help:"Shortest side of an image, in pixels."`
	DecodePixels int            `default:"33554432" help:"Most pixels decoded at once, for all requests; others wait. Also limits the images of one request, for models that take pixels."`
	Fetch        bool           `default:"true" negatable:"" help:"Fetch images from http and https URLs."`
	FetchTotal   int            `default:"50331648" help:"Largest total size of the images fetched for one request, in bytes."`
	FetchTimeout time.Duration  `default:"10s" help:"Longest time to fetch one image, redirects included."`
	FetchHops    int            `default:"3" help:"Most redirects followed for one image."`
	FetchAllow   []netip.Prefix `placeholder:"CIDR" help:"Private, loopback or link-local networks from which images may be fetched."`
}

// Validate reports settings that make no sense.
func (c Config) Validate() error {
	var errs []error
	if c.MaxBytes < 1 || c.MaxPixels < 1 || c.MinSide < 1 || c.MaxSide < c.MinSide {
		errs = append(errs, errors.New("the limits on images must be positive, and the shortest side not above the longest"))
	}
	if c.DecodePixels < c.MaxPixels {
		errs = append(errs, errors.New("pixels decoded at once must be enough for one image"))
	}
	if c.Fetch && (c.FetchTimeout <= 0 || c.FetchHops < 0 || c.FetchTotal < c.MaxBytes) {
		errs = append(errs, errors.New("the time to fetch an image must be positive, the redirects not negative, and all images of a request at least as large as one"))
	}
	return errors.Join(errs...)
}
