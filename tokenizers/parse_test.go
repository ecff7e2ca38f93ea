package tokenizers

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// small is a tokenizer.json. Tests change parts of it.
const small = `{
"version":"1.0",
"truncation":{"max_length":2,"strategy":"LongestFirst","stride":0},
"padding":{"strategy":{"Fixed":128},"direction":"Right","pad_to_multiple_of":null,
	"pad_id":3,"pad_type_id":0,"pad_token":"[PAD]"},
"added_tokens":[{"id":0,"special":true,"content":"[UNK]",
	"single_word":false,"lstrip":false,"rstrip":false,"normalized":false}],
"normalizer":{"type":"BertNormalizer",
	"clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},
"post_processor":{"type":"BertProcessing","sep":["b",2],"cls":["a",1]},
"decoder":{"type":"Unknown"},
"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
	"max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1,"b":2,"##b":3}}}`

func TestIgnoredSections(t *testing.T) {
	tok, err := parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	e, err := tok.Encode("ab AB zb a b a b", Options{})
	if err != nil || len(e.IDs) != 11 || e.Length != 11 {
		t.Errorf("got %+v, %v; want 11 tokens without truncation and padding", e, err)
	}
	if tok.PadID() != 3 || tok.Size() != 4 {
		t.Errorf("pad id %d and size %d, want 3 and 4", tok.PadID(), tok.Size())
	}
	post := tok.post
	if single, pair := countSpecial(post.single), countSpecial(post.pair); single != 2 || pair != 3 {
		t.Errorf("the post-processor adds %d and %d tokens, want 2 and 3", single, pair)
	}
	if id, ok := tok.id("##b"); !ok || id != 3 {
		t.Errorf("id of ##b is %d, %t, want 3", id, ok)
	}
}

// TestParseRefuses checks that the error names what is not supported.
func TestParseRefuses(t *testing.T) {
	const bertSplit = `{"type":"BertPreTokenizer"}`
	for _, c := range []struct{ old, new, want string }{
		{`"version":"1.0"`, `"version":"2.0"`, `"2.0"`},
		{`"version":"1.0"`, `"version":"1.0","extra":1`, "extra"},
		{`"clean_text":true`, `"clean_text":true,"strip_everything":true`, "strip_everything"},
		{`"clean_text":true,`, ``, "clean_text"},
		{bertSplit, `{"type":"UnicodeScripts"}`, "UnicodeScripts"},
		{bertSplit, `{"pattern":1}`, "type"},
		{bertSplit, `{"type":"Sequence"}`, "pretokenizers missing"},
		{bertSplit, `{"type":"Sequence","pretokenizers":[],"extra":1}`, "extra"},
		{
			bertSplit,
			`{"type":"Sequence","pretokenizers":[
				{"type":"Split","pattern":{"Regex":"x+"},"behavior":"Isolated","invert":false}]}`,
			`"x+"`,
		},
		{
			bertSplit,
			`{"type":"Split","pattern":{"String":"x"},"behavior":"Sideways","invert":false}`,
			"Sideways",
		},
		{
			bertSplit,
			`{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true}`,
			"WordPiece with a ByteLevel",
		},
		{
			bertSplit,
			`{"type":"Sequence","pretokenizers":[
				{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true},{"type":"BertPreTokenizer"}]}`,
			"ByteLevel",
		},
		{bertSplit, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"last"}`, "last"},
		{bertSplit, `{"type":"Metaspace","replacement":"▁▁"}`, "replacement"},
		{
			bertSplit,
			`{"type":"Sequence","pretokenizers":[
				{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]}`,
			"prepend_scheme first",
		},
		{`{"type":"BertNormalizer"`, `{"type":"ByteLevel"`, "ByteLevel"},
		{
			`"normalizer":{`,
			`"normalizer":{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},"ignored":{`,
			`\\s+`,
		},
		{
			`"normalizer":{`,
			`"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},"ignored":{`,
			"Precompiled",
		},
		{`{"type":"BertProcessing"`, `{"type":"OtherProcessing"`, "OtherProcessing"},
		{`["b",2]`, `["b"]`, "BertProcessing"},
		{`"model":{"type":"WordPiece"`, `"model":{"type":"WordLevel"`, "WordLevel"},
		{`"unk_token":"[UNK]"`, `"unk_token":"[NO]"`, "[NO]"},
		{`"a":1,"b":2`, `"a":1,"b":1`, "id 1"},
		{`"a":1`, `"a":-1`, "-1"},
		{`"id":0,`, `"id":7,`, "[UNK]"},
		{`"content":"[UNK]"`, `"content":""`, "empty"},
		{`"lstrip":false`, `"lstrip":false,"glue":true`, "glue"},
		{`"model":{`, `"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]},"ignored":{`, "dropout"},
		{
			`"model":{`,
			`"model":{"type":"BPE","end_of_word_suffix":"</w>","vocab":{"a":0},"merges":[]},"ignored":{`,
			"end_of_word_suffix",
		},
		{`"model":{`, `"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]},"ignored":{`, "merge 0"},
		{`"model":{`, `"model":{"type":"BPE","vocab":{"a":0},"merges":["aa"]},"ignored":{`, `"aa"`},
		{`"model":{`, `"model":{"type":"Unigram","unk_id":null,"vocab":[["a",-1]]},"ignored":{`, "unk_id"},
		{`"model":{`, `"model":{"type":"Unigram","unk_id":5,"vocab":[["a",-1]]},"ignored":{`, "unk_id 5"},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if text == small {
			t.Fatalf("%s is not in the file", c.old)
		}
		text = dropIgnored(text)
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that names %s", c.new, err, c.want)
		}
	}
}

// dropIgnored removes the member "ignored", the old component after a change above.
func dropIgnored(text string) string {
	start := strings.Index(text, `,"ignored":{`)
	if start < 0 {
		return text
	}
	depth := 0
	for i := start + len(`,"ignored":`); i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:start] + text[i+1:]
			}
		}
	}
	return text
}

func TestParseNeverPanics(t *testing.T) {
	for i := range len(small) {
		for _, text := range []string{small[:i], small[:i] + "0" + small[min(i+1, len(small)):]} {
			_, _ = parse([]byte(text))
		}
	}
	if _, err := Load("testdata/none.json"); err == nil {
		t.Error("Load of a missing file: no error")
	}
}

func TestParseScore(t *testing.T) {
	rounded := 0
	rows(t, "testdata/scores.jsonl.gz", func(g struct {
		Text  string
		Value float64
	}) {
		got, err := parseScore(g.Text)
		if err != nil || got != g.Value || math.Signbit(got) != math.Signbit(g.Value) {
			t.Errorf("%s: %v, want %v, %v", g.Text, got, g.Value, err)
		}
		if nearest, _ := strconv.ParseFloat(g.Text, 64); nearest != g.Value {
			rounded++
		}
	})
	if rounded == 0 {
		t.Error("the golden file has no score that differs from the nearest number")
	}
}
