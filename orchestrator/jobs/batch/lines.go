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

// line is a line of a file that is not blank.
type line struct {
	number int    // in the file, from 1, blank lines included
	offset int64  // of its first byte in the file
	size   int    // bytes with the line feed
	text   []byte // without the line feed; incomplete if the line is too long
	long   bool   // it exceeds the reader's bound
}

// lineReader splits a file into lines, in memory of one line up to a bound.
type lineReader struct {
	from   *bufio.Reader
	bound  int // bytes of a line
	number int
	offset int64
	text   []byte
}

func newLineReader(from io.Reader, bound int) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10), bound: bound}
}

var byteOrderMark = []byte("\ufeff")

// next returns the next line that is not blank, or io.EOF. Its text is valid until the next call.
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

// read returns the next line, blank or not.
func (r *lineReader) read() (line, error) {
	r.text = r.text[:0]
	l := line{number: r.number + 1, offset: r.offset}
	for {
		piece, err := r.from.ReadSlice('\n')
		r.offset += int64(len(piece))
		l.size += len(piece)
		if l.size > r.bound {
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

// parsedLine is the JSON object of a line. Only the API decodes the body.
type parsedLine struct {
	CustomID *string        `json:"custom_id"`
	Method   *string        `json:"method"`
	URL      *string        `json:"url"`
	Body     jsontext.Value `json:"body"`
}

// wantsStream reports whether the body has "stream": true.
func (p parsedLine) wantsStream() bool {
	var body struct {
		Stream jsontext.Value `json:"stream"`
	}
	_ = json.Unmarshal(p.Body, &body) // it was parsed before
	return body.Stream.Kind() == jsontext.KindTrue
}

// maxCustomID is the longest custom_id in bytes.
const maxCustomID = 512

// nextRequest returns the next line of the input file of a batch, which has been checked.
func (r record) nextRequest(lines *lineReader) (parsedLine, error) {
	l, err := lines.next()
	if err != nil {
		return parsedLine{}, err
	}
	parsed, problem := r.parse(l)
	if problem != nil { // impossible
		err = errors.New(problem.Message)
	}
	return parsed, err
}

// parse decodes a line of a batch. problem is nil if the line is valid.
func (r record) parse(l line) (c parsedLine, problem *Error) {
	fail := func(code, param, format string, args ...any) (parsedLine, *Error) {
		problem := &Error{Code: code, Message: fmt.Sprintf(format, args...), Line: new(l.number)}
		if param != "" {
			problem.Param = &param
		}
		return c, problem
	}
	if l.long {
		return fail("line_too_long", "", "This line is longer than the %d bytes that a request may have.", r.lineBound())
	}
	if err := json.Unmarshal(l.text, &c); err != nil {
		var mismatch *json.SemanticError
		if errors.As(err, &mismatch) && mismatch.JSONPointer != "" {
			param := string(mismatch.JSONPointer.LastToken())
			return fail("invalid_type", param, "%s should be a text.", param)
		}
		return fail("invalid_json_line", "", "This line is not parseable as valid JSON.")
	}
	switch {
	case c.CustomID == nil || *c.CustomID == "":
		return fail("missing_required_parameter", "custom_id", "Missing required parameter: 'custom_id'.")
	case len(*c.CustomID) > maxCustomID:
		return fail("invalid_value", "custom_id", "custom_id should have at most %d characters.", maxCustomID)
	case c.Method == nil:
		return fail("missing_required_parameter", "method", "Missing required parameter: 'method'.")
	case *c.Method != "POST":
		return fail("invalid_method", "method", "The method should be POST.")
	case c.URL == nil:
		return fail("missing_required_parameter", "url", "Missing required parameter: 'url'.")
	case *c.URL != r.Endpoint:
		return fail("url_mismatch", "url", "The url of this request is not the endpoint of the batch, %s.", r.Endpoint)
	case c.Body == nil:
		return fail("missing_required_parameter", "body", "Missing required parameter: 'body'.")
	case c.Body.Kind() != jsontext.KindBeginObject:
		return fail("invalid_type", "body", "body should be an object.")
	}
	return c, nil
}

// chunkBytes bounds the lines of a chunk, in bytes, unless it is a single line.
const chunkBytes = 256 << 10

// chunk is consecutive lines of a file that are one task. Its JSON names must stay: older releases queued tasks with
// them.
type chunk struct {
	Number int   `json:"number"` // from 0
	First  int   `json:"first"`  // number of its first line without blank lines, from 0
	Lines  int   `json:"lines"`
	Offset int64 `json:"offset"` // in the file
	Bytes  int   `json:"bytes"`

	Round   int `json:"round,omitempty"`   // how often it was put back
	Refused int `json:"refused,omitempty"` // how often it was put back while its API answered other lines
}

// appendLine adds the next line of a file to the last chunk, or to a new one of at most maxLines if that is full. The
// same lines always give the same chunks.
func appendLine(chunks []chunk, l line, maxLines int) []chunk {
	next := chunk{Number: len(chunks), Lines: 1, Offset: l.offset, Bytes: l.size}
	if len(chunks) > 0 {
		last := &chunks[len(chunks)-1]
		size := int(l.offset-last.Offset) + l.size
		if last.Lines < maxLines && size <= chunkBytes {
			last.Lines++
			last.Bytes = size
			return chunks
		}
		next.First = last.First + last.Lines
	}
	return append(chunks, next)
}
