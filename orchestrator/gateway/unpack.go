package gateway

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"retort/orchestrator/fault"
)

// unpacked reads the text of a body in a Content-Encoding: gzip, or none. All bounds hold for the text, of which no more
// is unpacked than is read.
func unpacked(encoding string, body io.Reader) (text io.Reader, packed bool, err error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, false, nil
	case "gzip", "x-gzip":
		return &gunzip{body: body}, true, nil
	}
	return nil, false, fault.New(fault.Invalid, "The Content-Encoding %q is not taken: gzip or none.", fault.Clip(encoding))
}

// gunzip unpacks from its first Read on, since a body's first bytes may come late.
type gunzip struct {
	body io.Reader
	text *gzip.Reader
}

func (g *gunzip) Read(into []byte) (int, error) {
	if g.text == nil {
		text, err := gzip.NewReader(g.body)
		if err != nil {
			if err == io.EOF { // no body at all is none, not the end of one
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		g.text = text
	}
	return g.text.Read(into)
}

// notGzip says that a body's bytes are not gzip's.
func notGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
