package encoder

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// rowsAtOnce is how many rows one goroutine tokenizes before it looks whether the client has left.
const rowsAtOnce = 64

// Tokenize makes n rows, on all cores when there are many. row makes one; path is the field of the body that a row came
// of. A row that is too long is refused as TooLong words it.
func Tokenize(ctx context.Context, n int, path func(i int) []any, row func(i int) (*tokenizers.Encoding, error)) ([]*tokenizers.Encoding, error) {
	rows := make([]*tokenizers.Encoding, n)
	some := func(ctx context.Context, from, to int) error {
		for i := from; i < to; i++ {
			made, err := row(i)
			if err != nil {
				return refusal(err, path(i))
			}
			rows[i] = made
		}
		return ctx.Err()
	}
	if n <= rowsAtOnce {
		return rows, some(ctx, 0, n)
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += rowsAtOnce {
		work.Go(fault.Guard(func() error { return some(ctx, from, min(from+rowsAtOnce, n)) }))
	}
	return rows, work.Wait()
}

func refusal(err error, path []any) error {
	var long *tokenizers.LengthError
	if errors.As(err, &long) {
		return TooLong(long, path...)
	}
	return fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under(path...)
}

// longText is how many bytes of a text are tokenized at once. Tokenizing takes fifty times as much memory, and no model
// reads so much: 512 tokens have two thousand bytes each to be in it.
const longText = 1 << 20

// Encode makes a row of a text. Of one above longText, the end that is cut away by truncation is not looked at; where
// it would be refused, its tokens are counted piece by piece.
func (e *Encoder) Encode(text string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(text) > longText {
		if o.Strategy == tokenizers.Refuse {
			return e.refuse(text, "", o)
		}
		text = shorten(text, o.Direction)
	}
	return e.Tokenizer.Encode(text, o)
}

// EncodePair is Encode for a pair of texts, of which only the second is cut.
func (e *Encoder) EncodePair(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(first) > longText || len(second) > longText && o.Strategy == tokenizers.Refuse {
		return e.refuse(first, second, o)
	}
	if len(second) > longText {
		second = shorten(second, o.Direction)
	}
	return e.Tokenizer.EncodePair(first, second, o)
}

// shorten keeps longText bytes of a text, up to a space where there is one.
func shorten(text string, direction tokenizers.Direction) string {
	if direction == tokenizers.Left {
		rest := text[len(text)-longText:]
		for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
			rest = rest[1:]
		}
		if _, after, found := strings.Cut(rest, " "); found {
			return after
		}
		return rest
	}
	rest := text[:longText]
	for len(rest) > 0 && !utf8.RuneStart(text[len(rest)]) {
		rest = rest[:len(rest)-1]
	}
	if space := strings.LastIndexByte(rest, ' '); space > 0 {
		return rest[:space]
	}
	return rest
}

// refuse returns the LengthError of texts of which one is long, or their row where they turn out to have few tokens.
func (e *Encoder) refuse(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	empty, err := e.Tokenizer.EncodePair("", "", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	single, err := e.Tokenizer.Encode("", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	length := len(single.IDs)
	if second != "" {
		length = len(empty.IDs)
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

// count is the number of tokens of a text without the special ones, of which every row has so many.
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
