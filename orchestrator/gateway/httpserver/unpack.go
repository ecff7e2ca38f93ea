package httpserver

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
)

func contentEncoding(c *fasthttp.RequestCtx) string {
	return string(c.Request.Header.Peek(fasthttp.HeaderContentEncoding))
}

// unpack returns a reader of a body's text, whose Content-Encoding may be gzip. It unpacks no more than is read, so
// that bounds on the text hold.
func unpack(encoding string, body io.Reader) (text io.Reader, isPacked bool, err error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, false, nil
	case "gzip", "x-gzip":
		return &gunzip{body: body}, true, nil
	}
	err = fault.New(fault.Invalid, "The Content-Encoding %q is not taken: gzip or none.", fault.Clip(encoding))
	return nil, false, err
}

// gunzip reads the gzip header at the first Read and not before: it may not have arrived yet.
type gunzip struct {
	body io.Reader
	text *gzip.Reader
}

func (g *gunzip) Read(into []byte) (int, error) {
	if g.text == nil {
		text, err := gzip.NewReader(g.body)
		if err != nil {
			if err == io.EOF { // an empty body is no gzip
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		g.text = text
	}
	return g.text.Read(into)
}

// isCorrupt reports whether err says that a body is not valid gzip.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
