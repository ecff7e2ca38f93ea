package batch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// line is one line of a file that is not empty.
type line struct {
	number int   // in the file, from 1
	offset int64 // of its first byte in the file
	size   int   // bytes, without its end
	text   []byte
	long   bool // it is longer than the bound, and text is not all of it
}

// lineReader splits a file into lines, none of which takes more memory than the bound.
type lineReader struct {
	from   *bufio.Reader
	most   int // bytes of a line
	number int
	offset int64
	text   []byte
}

func newLineReader(from io.Reader, most int) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10), most: most}
}

var byteOrderMark = []byte("\ufeff")

// next returns the next line that is not blank, whose text is good until the next call, or io.EOF.
func (r *lineReader) next() (line, error) {
	for {
		l, err := r.read()
		if err != nil {
			return l, err
		}
		if l.number == 1 && bytes.HasPrefix(l.text, byteOrderMark) {
			l.text = l.text[len(byteOrderMark):]
			l.offset += int64(len(byteOrderMark))
			l.size -= len(byteOrderMark)
		}
		if l.long || len(bytes.TrimSpace(l.text)) > 0 {
			return l, nil
		}
	}
}

// read returns the next line of any kind.
func (r *lineReader) read() (line, error) {
	r.text = r.text[:0]
	l := line{number: r.number + 1, offset: r.offset}
	for {
		piece, err := r.from.ReadSlice('\n')
		r.offset += int64(len(piece))
		l.size += len(piece)
		if l.size > r.most {
			l.long = true
		} else {
			r.text = append(r.text, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == io.EOF && l.size > 0 {
			err = nil
		}
		if err != nil {
			return l, err
		}
		r.number++
		l.text = bytes.TrimRight(r.text, "\r\n")
		return l, nil
	}
}

// request is what a line says.
type request struct {
	CustomID *string        `json:"custom_id"`
	Method   *string        `json:"method"`
	URL      *string        `json:"url"`
	Body     jsontext.Value `json:"body"`
}

// maxCustomID is how many bytes a custom_id may have.
const maxCustomID = 512

// parse reads a line of a batch for an endpoint. The error says what is wrong, nil of a good line.
func parse(l line, most int, endpoint string) (r request, wrong *Error) {
	fail := func(code, param, format string, args ...any) (request, *Error) {
		wrong := &Error{Code: code, Message: fmt.Sprintf(format, args...), Line: pointer(l.number)}
		if param != "" {
			wrong.Param = &param
		}
		return r, wrong
	}
	if l.long {
		return fail("line_too_long", "", "This line is longer than the %d bytes that a request may have.", most)
	}
	if err := json.Unmarshal(l.text, &r); err != nil {
		var shape *json.SemanticError
		if errors.As(err, &shape) && shape.JSONPointer != "" {
			param := string(shape.JSONPointer.LastToken())
			return fail("invalid_type", param, "%s should be a text.", param)
		}
		return fail("invalid_json_line", "", "This line is not parseable as valid JSON.")
	}
	switch {
	case r.CustomID == nil || *r.CustomID == "":
		return fail("missing_required_parameter", "custom_id", "Missing required parameter: 'custom_id'.")
	case len(*r.CustomID) > maxCustomID:
		return fail("invalid_value", "custom_id", "custom_id should have at most %d characters.", maxCustomID)
	case r.Method == nil:
		return fail("missing_required_parameter", "method", "Missing required parameter: 'method'.")
	case *r.Method != "POST":
		return fail("invalid_method", "method", "The method should be POST.")
	case r.URL == nil:
		return fail("missing_required_parameter", "url", "Missing required parameter: 'url'.")
	case *r.URL != endpoint:
		return fail("url_mismatch", "url", "The url of this request is not the endpoint of the batch, %s.", endpoint)
	case len(r.Body) == 0:
		return fail("missing_required_parameter", "body", "Missing required parameter: 'body'.")
	case r.Body.Kind() != '{':
		return fail("invalid_type", "body", "body should be an object.")
	}
	return r, nil
}

// A task holds at most this many bytes of lines, unless one line is longer: it is read whole.
const chunkBytes = 256 << 10

// Lines of one task: of endpoints that answer in some milliseconds, and of all others.
const (
	quickLines = 32
	slowLines  = 4
)

// chunk is the lines of one task, which lie one after the other in the file.
type chunk struct {
	Number int   `json:"number"` // from 0
	First  int   `json:"first"`  // number of its first line among those that are not blank, from 0
	Lines  int   `json:"lines"`
	Offset int64 `json:"offset"`
	Bytes  int   `json:"bytes"`

	Round   int `json:"round,omitempty"`   // how often it was put back
	Refused int `json:"refused,omitempty"` // how often so while its API answered other lines
}

// chunker cuts lines into chunks, the same ones each time it is given the same lines.
type chunker struct {
	most    int // lines
	current chunk
}

// add takes the next line, and returns the chunk before it where that has become complete.
func (c *chunker) add(l line) (complete *chunk) {
	end := int(l.offset-c.current.Offset) + l.size
	if c.current.Lines > 0 && (c.current.Lines == c.most || end > chunkBytes) {
		complete = pointer(c.current)
		c.current = chunk{Number: c.current.Number + 1, First: c.current.First + c.current.Lines}
	}
	if c.current.Lines == 0 {
		c.current.Offset = l.offset
		end = l.size
	}
	c.current.Lines++
	c.current.Bytes = end
	return complete
}

// last returns what is left.
func (c *chunker) last() *chunk {
	if c.current.Lines == 0 {
		return nil
	}
	return &c.current
}
