package encoder_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// A text that fits has one chunk, the row of Encode. A long one is read whole, also above longText.
func TestChunksReadAll(t *testing.T) {
	e, err := open(t, &graph{types: true}, parameter("max_model_len", "64"), "out")
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "passage: "} {
		for _, times := range []int{0, 1, 9, 10, 11, 200, 50_000} {
			text := strings.Repeat("Aspirin eases pain and more. ", times)
			chunks, err := e.EncodeChunks(prefix, text, encoder.NewChunkBudget(1<<20))
			if err != nil {
				t.Fatal(err)
			}
			whole, err := e.Tokenizer.Encode(prefix+text, tokenizers.Options{})
			if err != nil {
				t.Fatal(err)
			}
			head, err := e.Tokenizer.Tokens(prefix)
			if err != nil {
				t.Fatal(err)
			}
			var reading encoder.Reading
			reading.AddChunks(chunks)
			overlaps := (len(chunks) - 1) * ((64 - 2 - len(head)) / 8)
			repeated := (len(chunks) - 1) * (2 + len(head))
			if want := len(whole.IDs) + overlaps + repeated; reading.Tokens != want || reading.Truncated != 0 {
				t.Errorf("%q, %d times: %+v, want %d tokens", prefix, times, reading, want)
			}
			isWhole := len(chunks) == 1 && slices.Equal(chunks[0].IDs, whole.IDs) && reading.Chunks == 0
			if len(whole.IDs) <= 64 && !isWhole {
				t.Errorf("%q, %d times: a text that fits has %d chunks", prefix, times, len(chunks))
			}
		}
	}
}

// The first text is whole in each chunk. A first text that leaves no room, or too many chunks, are refused.
func TestPairChunks(t *testing.T) {
	e, err := open(t, &graph{types: true}, parameter("max_model_len", "64"), "out")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("Aspirin eases pain and more. ", 100)
	query, err := e.Tokens("which one")
	if err != nil {
		t.Fatal(err)
	}
	chunks, _, err := e.EncodePairChunks(query, long, encoder.ChunkOptions{Budget: encoder.NewChunkBudget(100)})
	if err != nil || len(chunks) < 10 {
		t.Fatalf("%d chunks, %v", len(chunks), err)
	}
	first, err := e.EncodePair("which one", long, tokenizers.Options{MaxLength: 64, Strategy: tokenizers.OnlySecond})
	if err != nil || !slices.Equal(first.IDs, chunks[0].IDs) || !slices.Equal(first.TypeIDs, chunks[0].TypeIDs) {
		t.Errorf("the first chunk is %v, want the truncated pair %v, %v", chunks[0].IDs, first.IDs, err)
	}
	budget := encoder.NewChunkBudget(len(chunks) + 1)
	for i, want := range []string{"", "Input needs more than the"} {
		_, _, err := e.EncodePairChunks(query, long, encoder.ChunkOptions{Budget: budget})
		if got := fault.As(err); (got == nil) != (want == "") || got != nil && !strings.HasPrefix(got.Message, want) {
			t.Errorf("text %d: error %v, want %q", i, err, want)
		}
	}
	if query, err = e.Tokens(long); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EncodePairChunks(query, "short", encoder.ChunkOptions{Budget: encoder.NewChunkBudget(100)}); err == nil {
		t.Error("a first text that is too long is accepted")
	}
}

// The start of a text has at most the given tokens, and one character more would be too many. A text that fits is its
// own start.
func TestStart(t *testing.T) {
	e, err := open(t, &graph{types: true}, "", "out")
	if err != nil {
		t.Fatal(err)
	}
	spaces := strings.Repeat(" ", 1<<18)
	for name, text := range map[string]string{
		"short": "which one",
		"words": strings.Repeat("aspirin ", 50_000),
		"late":  "a" + spaces + strings.Repeat("größer ", 300),
		"fits":  "a" + spaces,
	} {
		start, err := e.Start(text, 32)
		if err != nil || !strings.HasPrefix(text, start) || !utf8.ValidString(start) {
			t.Fatalf("%s: %d bytes, %v", name, len(start), err)
		}
		ids, err := e.Tokens(start)
		if err != nil || len(ids) > 32 || start != text && len(ids) < 31 {
			t.Errorf("%s: the start has %d tokens, %v", name, len(ids), err)
		}
		if fits := name == "short" || name == "fits"; fits != (start == text) {
			t.Errorf("%s: %d of %d bytes", name, len(start), len(text))
		}
	}
}

// The length of a truncated row counts all tokens, also of texts above longText.
func TestReadingCountsWhatIsCut(t *testing.T) {
	e, err := open(t, &graph{types: true}, "", "out")
	if err != nil {
		t.Fatal(err)
	}
	for _, times := range []int{1, 20, 100_000} {
		text := strings.Repeat("aspirin eases pain and more ", times)
		for _, direction := range []tokenizers.Direction{tokenizers.Left, tokenizers.Right} {
			var single, pair encoder.Reading
			options := tokenizers.Options{MaxLength: 64, Strategy: tokenizers.OnlyFirst, Direction: direction}
			row, err := e.Encode(text, options)
			if err != nil {
				t.Fatal(err)
			}
			single.Add(row)
			options.Strategy = tokenizers.OnlySecond
			if row, err = e.EncodePair("which", text, options); err != nil {
				t.Fatal(err)
			}
			pair.Add(row)
			whole, err := e.Tokenizer.Encode(text, tokenizers.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if all := len(whole.IDs); single.Tokens+single.Truncated != all || pair.Tokens+pair.Truncated != all+2 {
				t.Errorf("%d times: %+v and %+v of %d tokens", times, single, pair, all)
			}
		}
	}
}
