package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"
)

//go:embed assets
var files embed.FS

// asset is a file of the page.
type asset struct {
	packed []byte // gzip
	kind   string // content type
	tag    string // ETag
}

func (a asset) plain() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(a.packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// assets returns all files by name. It compresses them once, except large ones, which are stored compressed.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "assets/")
		short, packed := strings.CutSuffix(name, ".gz")
		if !packed {
			text = pack(text)
		}
		sum := sha256.Sum256(text)
		all[short] = asset{packed: text, kind: contentType(short), tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	if err != nil {
		panic(err) // impossible: the files are embedded
	}
	return all
})

// contentType returns the type of a file. It knows the types of the page, because the tables of systems differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt", "":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func pack(text []byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a valid level
	_, _ = w.Write(text)                                       // to memory
	_ = w.Close()
	return packed.Bytes()
}
