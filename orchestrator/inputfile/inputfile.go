// Package inputfile opens the files of users, which may be compressed.
package inputfile

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
)

// Extension is the end of the name of a compressed file.
const Extension = ".gz"

// Open opens a file, which is decompressed if its name ends in .gz.
func Open(name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil || !strings.HasSuffix(strings.ToLower(name), Extension) {
		return file, err
	}
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{unzipped, file}, nil
}
