package encoder

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// rowsAtOnce is how many rows a goroutine tokenizes before it checks whether the client has left.
const rowsAtOnce = 64

// Tokenize calls row for 0..n-1 and returns the rows in order. It uses all cores for many rows. path returns the field
// of the request body that a row comes from.
func Tokenize(
	ctx context.Context, n int, path func(i int) []any, row func(i int) (*tokenizers.Encoding, error),
) ([]*tokenizers.Encoding, error) {
	rows := make([]*tokenizers.Encoding, n)
	tokenize := func(ctx context.Context, from, to int) error {
		for i := from; i < to; i++ {
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

// refusal returns the error for the row at path. For a row above the model's length it has the words of the published
// services, which clients match.
func refusal(err error, path []any) error {
	if long, ok := errors.AsType[*tokenizers.LengthError](err); ok {
		return &fault.Error{
			Kind:    fault.Invalid,
			Path:    path,
			Message: fmt.Sprintf("Input length %d exceeds maximum allowed token size %d", long.Length, long.Max),
		}
	}
	return fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under(path...)
}

// longText bounds the bytes of a text that are tokenized at once, since tokenization needs fifty times their memory. No
// model reads more: even at 2,000 bytes a token, 512 tokens fit in 1 MiB.
const longText = 1 << 20

// Encode tokenizes a text into a row. It does not read the end of a text above longText that truncation removes. If the
// text would be refused instead of truncated, it counts the tokens piece by piece.
func (e *Encoder) Encode(text string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(text) > longText {
		if o.Strategy == tokenizers.Refuse {
			return e.refuse(text, "", o)
		}
		text = shorten(text, o.Direction)
	}
	return e.Tokenizer.Encode(text, o)
}

// EncodePair is like Encode for a pair of texts. Only the second is truncated.
func (e *Encoder) EncodePair(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(first) > longText || len(second) > longText && o.Strategy == tokenizers.Refuse {
		return e.refuse(first, second, o)
	}
	if len(second) > longText {
		second = shorten(second, o.Direction)
	}
	return e.Tokenizer.EncodePair(first, second, o)
}

// shorten cuts a text to at most longText bytes, at a space if there is one.
func shorten(text string, direction tokenizers.Direction) string {
	if direction == tokenizers.Left {
		end := text[len(text)-longText:]
		for len(end) > 0 && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
		if _, words, ok := strings.Cut(end, " "); ok {
			return words
		}
		return end
	}
	start := text[:longText]
	for len(start) > 0 && !utf8.RuneStart(text[len(start)]) {
		start = start[:len(start)-1]
	}
	if space := strings.LastIndexByte(start, ' '); space > 0 {
		return start[:space]
	}
	return start
}

// refuse returns the LengthError of a text or a pair with a text above longText, or the row if it has few tokens.
func (e *Encoder) refuse(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	pair, err := e.Tokenizer.EncodePair("", "", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	single, err := e.Tokenizer.Encode("", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	length := len(single.IDs)
	if second != "" {
		length = len(pair.IDs)
	}
	for _, text := range []string{first, second} {
		tokens, err := e.count(text, len(single.IDs))
		if err != nil {
			return nil, err
		}
		length += tokens
	}
	if length > o.MaxLength {
		return nil, &tokenizers.LengthError{Length: length, Max: o.MaxLength}
	}
	if second != "" {
		return e.Tokenizer.EncodePair(first, second, o)
	}
	return e.Tokenizer.Encode(first, o)
}

// count returns the number of tokens of a text, without the special tokens, of which every row has special.
func (e *Encoder) count(text string, special int) (int, error) {
	const piece = 64 << 10
	total := 0
	for len(text) > 0 {
		end := min(piece, len(text))
		if end < len(text) {
			if space := strings.LastIndexByte(text[:end], ' '); space > 0 {
				end = space
			}
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end++
			}
		}
		row, err := e.Tokenizer.Encode(text[:end], tokenizers.Options{})
		if err != nil {
			return 0, err
		}
		total += len(row.IDs) - special
		text = text[end:]
	}
	return total, nil
}
