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

// rowsAtOnce is how many rows a goroutine tokenizes before it checks whether the client has left.
const rowsAtOnce = 64

// Tokenize returns n rows, made by row, on all cores if there are many. path returns the field of the body that a row comes
// from. A row that is too long gives the error of TooLong.
func Tokenize(
	ctx context.Context, n int, path func(i int) []any, row func(i int) (*tokenizers.Encoding, error),
) ([]*tokenizers.Encoding, error) {
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

// longText is the most bytes of a text that are tokenized at once: tokenizing takes fifty times their memory. No model
// reads more. Even at 2,000 bytes a token, 512 tokens fit in 1 MiB.
const longText = 1 << 20

// Encode tokenizes a text into a row. Of a text above longText, the end that truncation removes is not read; if the text
// would be refused instead, its tokens are counted piece by piece.
func (e *Encoder) Encode(text string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(text) > longText {
		if o.Strategy == tokenizers.Refuse {
			return e.refuse(text, "", o)
		}
		text = shorten(text, o.Direction)
	}
	return e.Tokenizer.Encode(text, o)
}

// EncodePair is Encode for a pair of texts. Only the second is truncated.
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

// count returns the number of tokens of a text without special tokens, of which every row has the number special.
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
