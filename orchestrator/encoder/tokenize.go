package encoder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// rowsAtOnce is how many rows a goroutine tokenizes.
const rowsAtOnce = 64

// Tokenize calls row for 0..n-1, on all cores if there are many, and returns the rows in order. path returns the path
// of row i in the request body.
func Tokenize[Row any](
	ctx context.Context, n int, path func(i int) []any, row func(i int) (Row, error),
) ([]Row, error) {
	rows := make([]Row, n)
	tokenize := func(ctx context.Context, from, to int) error {
		for i := from; i < to; i++ {
			if err := ctx.Err(); err != nil { // the client has left: a row may have megabytes of text
				return err
			}
			encoding, err := row(i)
			if err != nil {
				return refusal(err, path(i))
			}
			rows[i] = encoding
		}
		return ctx.Err()
	}
	if n <= rowsAtOnce {
		return rows, tokenize(ctx, 0, n)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += rowsAtOnce {
		group.Go(fault.WithRecover(func() error { return tokenize(ctx, from, min(from+rowsAtOnce, n)) }))
	}
	return rows, group.Wait()
}

// refusal returns the error for the row at path. Clients match the message about a row that is too long, which is the
// published services'.
func refusal(err error, path []any) error {
	if long, ok := errors.AsType[*tokenizers.LengthError](err); ok {
		return &fault.Error{
			Kind:    fault.Invalid,
			Path:    path,
			Message: fmt.Sprintf("Input length %d exceeds maximum allowed token size %d", long.Length, long.Max),
		}
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Under(path...)
	}
	return fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under(path...)
}

// longText is the size in bytes above which a text is shortened, or its tokens counted, before it is tokenized, since
// tokenization needs fifty times the memory of the text. No model reads more: even at 2,000 bytes a token, 512 tokens
// fit in 1 MiB.
const longText = 1 << 20

// Encode is Tokenizer.Encode with little memory for long texts. o.MaxLength must be set.
func (e *Encoder) Encode(text string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	cut := ""
	switch {
	case len(text) <= longText:
	case o.Strategy == tokenizers.Refuse:
		if err := e.checkLength(o.MaxLength, text); err != nil {
			return nil, err
		}
	default:
		text, cut = shorten(text, o.Direction)
	}
	row, err := e.Tokenizer.Encode(text, o)
	return e.withCut(row, cut, err)
}

// EncodePair is Tokenizer.EncodePair with little memory for long texts. o.MaxLength must be set. The first text is
// never truncated.
func (e *Encoder) EncodePair(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	cut := ""
	switch {
	case len(first) > longText, len(second) > longText && o.Strategy == tokenizers.Refuse:
		if err := e.checkLength(o.MaxLength, first, second); err != nil {
			return nil, err
		}
	case len(second) > longText:
		second, cut = shorten(second, o.Direction)
	}
	row, err := e.Tokenizer.EncodePair(first, second, o)
	return e.withCut(row, cut, err)
}

// withCut counts the tokens of a text that was cut off in the length of a row.
func (e *Encoder) withCut(row *tokenizers.Encoding, cut string, err error) (*tokenizers.Encoding, error) {
	if err != nil || cut == "" {
		return row, err
	}
	n, err := e.count(cut)
	if err != nil {
		return nil, err
	}
	row.Length += n
	return row, nil
}

// shorten cuts a text to at most longText bytes, at a space if there is one. It returns what is left and what was cut.
func shorten(text string, direction tokenizers.Direction) (kept, cut string) {
	if direction == tokenizers.Left {
		from := len(text) - longText
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		if space := strings.IndexByte(text[from:], ' '); space >= 0 {
			from += space + 1
		}
		return text[from:], text[:from]
	}
	to := longText
	for to > 0 && !utf8.RuneStart(text[to]) {
		to--
	}
	if space := strings.LastIndexByte(text[:to], ' '); space > 0 {
		to = space
	}
	return text[:to], text[to:]
}

// checkLength returns a LengthError if a row of one or two texts has more than limit tokens. It tokenizes the texts
// piece by piece.
func (e *Encoder) checkLength(limit int, texts ...string) error {
	empty, err := e.Tokenizer.Encode("", tokenizers.Options{})
	if err != nil {
		return err
	}
	emptyPair, err := e.Tokenizer.EncodePair("", "", tokenizers.Options{})
	if err != nil {
		return err
	}
	length := len(empty.IDs)
	if len(texts) == 2 {
		length = len(emptyPair.IDs)
	}
	for _, text := range texts {
		tokens, err := e.count(text)
		if err != nil {
			return err
		}
		length += tokens
	}
	if length > limit {
		return &tokenizers.LengthError{Length: length, Max: limit}
	}
	return nil
}

// count returns the number of tokens of a text, without the special tokens of a row. A word longer than a piece may
// count as more.
func (e *Encoder) count(text string) (int, error) {
	total := 0
	for piece := range pieces(text) {
		ids, err := e.Tokenizer.Tokens(piece)
		if err != nil {
			return 0, err
		}
		total += len(ids)
	}
	return total, nil
}

// pieceSize is the size in bytes of the pieces of a long text.
const pieceSize = 64 << 10

// pieces cuts a text into pieces of at most pieceSize, at spaces where there are some.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			end := min(pieceSize, len(text))
			if end < len(text) {
				if space := strings.LastIndexByte(text[:end], ' '); space > 0 {
					end = space
				}
				for end < len(text) && !utf8.RuneStart(text[end]) {
					end++
				}
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}
