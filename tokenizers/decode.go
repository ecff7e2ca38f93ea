package tokenizers

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// decodeStep is a step of the decoder: it turns tokens into texts, which are joined after the last step.
type decodeStep func(tokens []string) []string

// names are the tokens of a tokenizer by id.
type names struct {
	tokens  map[int32]string
	special map[int32]bool // tokens that a decoder may leave out
}

// Decode returns the text of token ids, without special tokens if skipSpecial is true. Ids that have no token are
// skipped, as in the reference library. The error is that of a decoder that this package does not support.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) (string, error) {
	if t.decoderErr != nil {
		return "", fmt.Errorf("decoder: %w", t.decoderErr)
	}
	names := t.names()
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		if token, ok := names.tokens[id]; ok && !(skipSpecial && names.special[id]) {
			tokens = append(tokens, token)
		}
	}
	if t.decoder == nil {
		return strings.Join(tokens, " "), nil
	}
	return strings.Join(t.decoder(tokens), ""), nil
}

// Token returns the token of an id as the vocabulary writes it, such as "Ġworld".
func (t *Tokenizer) Token(id int32) (token string, ok bool) {
	token, ok = t.names().tokens[id]
	return token, ok
}

// readNames returns the tokens by id. Added tokens, in normalized form if they are searched for in it,
// hide those of the model.
func (t *Tokenizer) readNames() *names {
	n := &names{tokens: map[int32]string{}, special: map[int32]bool{}}
	for token, id := range t.model.all() {
		n.tokens[id] = token
	}
	for _, a := range t.added {
		n.tokens[a.ID] = a.form
		n.special[a.ID] = a.Special
	}
	return n
}

// parseDecoder reads the decoder; nil joins the tokens with spaces.
func parseDecoder(raw json.RawMessage) (decodeStep, error) {
	if isAbsent(raw) {
		return nil, nil
	}
	name, err := componentType(raw)
	if err != nil {
		return nil, err
	}
	switch name {
	case "ByteLevel":
		return joinBytes, decodeComponent(raw, &byteLevelSplit{})
	case "ByteFallback":
		return joinFallback, nil
	case "Fuse":
		return fuse, nil
	case "WordPiece":
		return parseWordPieceDecoder(raw)
	case "Metaspace":
		return parseMetaspaceDecoder(raw)
	case "BPEDecoder":
		return parseSuffixDecoder(raw)
	case "Replace":
		return parseReplaceDecoder(raw)
	case "Strip":
		return parseStripDecoder(raw)
	case "Sequence":
		steps, err := parseSequence(raw, "decoders", func(part json.RawMessage) ([]decodeStep, error) {
			step, err := parseDecoder(part)
			return []decodeStep{step}, err
		})
		return inOrder(steps), err
	}
	return nil, unsupported(name)
}

func inOrder(steps []decodeStep) decodeStep {
	return func(tokens []string) []string {
		for _, step := range steps {
			tokens = step(tokens)
		}
		return tokens
	}
}

// eachToken returns a step that rewrites each token; i is its position.
func eachToken(rewrite func(i int, token string) string) decodeStep {
	return func(tokens []string) []string {
		for i, token := range tokens {
			tokens[i] = rewrite(i, token)
		}
		return tokens
	}
}

func fuse(tokens []string) []string { return []string{strings.Join(tokens, "")} }

// joinBytes decodes the byte-level alphabet. Bytes that are not UTF-8 become U+FFFD, one for each maximal part of a
// character.
func joinBytes(tokens []string) []string {
	var all strings.Builder
	for _, token := range tokens {
		raw, _ := fromByteLevel(token) // a token with other characters stays as it is
		all.WriteString(raw)
	}
	text, err := unicode.UTF8.NewDecoder().String(all.String())
	if err != nil { // cannot happen: the decoder replaces what is invalid
		text = strings.ToValidUTF8(all.String(), string(utf8.RuneError))
	}
	return []string{text}
}

// joinFallback joins runs of the tokens <0x00> … <0xFF> into texts. The bytes of a run that is not UTF-8 become U+FFFD
// each.
func joinFallback(tokens []string) []string {
	out := make([]string, 0, len(tokens))
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			out = append(out, string(run))
		} else {
			out = append(out, strings.Repeat(string(utf8.RuneError), len(run)))
		}
		run = run[:0]
	}
	for _, token := range tokens {
		var c byte
		if n, err := fmt.Sscanf(token, "<0x%02X>", &c); len(token) == 6 && err == nil && n == 1 {
			run = append(run, c)
			continue
		}
		if len(run) > 0 {
			flush()
		}
		out = append(out, token)
	}
	if len(run) > 0 {
		flush()
	}
	return out
}

// untidy are the texts that the cleanup of WordPiece replaces by those after them, one after the other: spaces before
// punctuation and contractions.
var untidy = [][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
	{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

func cleanUp(text string) string {
	for _, pair := range untidy {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

func parseWordPieceDecoder(raw json.RawMessage) (decodeStep, error) {
	var c struct {
		component
		Prefix  string `json:"prefix"`
		Cleanup bool   `json:"cleanup"`
	}
	err := decodeComponent(raw, &c)
	return eachToken(func(i int, token string) string {
		if rest, found := strings.CutPrefix(token, c.Prefix); found && i > 0 {
			token = rest
		} else if i > 0 {
			token = " " + token
		}
		if c.Cleanup {
			token = cleanUp(token)
		}
		return token
	}), err
}

func parseMetaspaceDecoder(raw json.RawMessage) (decodeStep, error) {
	m, err := parseMetaspace(raw)
	if err != nil {
		return nil, err
	}
	return eachToken(func(i int, token string) string {
		space := " "
		if i == 0 && (m.always || m.first) {
			space = ""
		}
		return strings.ReplaceAll(token, m.replacement, space)
	}), nil
}

// parseSuffixDecoder reads a BPEDecoder: a token that ends a word has a suffix.
func parseSuffixDecoder(raw json.RawMessage) (decodeStep, error) {
	var c struct {
		component
		Suffix string `json:"suffix"`
	}
	err := decodeComponent(raw, &c)
	return func(tokens []string) []string {
		for i, token := range tokens {
			space := " "
			if i == len(tokens)-1 {
				space = ""
			}
			tokens[i] = strings.ReplaceAll(token, c.Suffix, space)
		}
		return tokens
	}, err
}

func parseReplaceDecoder(raw json.RawMessage) (decodeStep, error) {
	var c struct {
		component
		Pattern struct {
			String *string `json:"String"`
		} `json:"pattern"`
		Content string `json:"content"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	if c.Pattern.String == nil || *c.Pattern.String == "" {
		return nil, fmt.Errorf("Replace: only a pattern that is a text is supported")
	}
	return eachToken(func(_ int, token string) string {
		return strings.ReplaceAll(token, *c.Pattern.String, c.Content)
	}), nil
}

// parseStripDecoder reads a Strip: it removes a character from the start and the end of each token.
func parseStripDecoder(raw json.RawMessage) (decodeStep, error) {
	var c struct {
		component
		Content string `json:"content"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(c.Content) != 1 {
		return nil, fmt.Errorf("Strip: content %q is not one character", c.Content)
	}
	return eachToken(func(_ int, token string) string {
		for i := 0; i < c.Start && strings.HasPrefix(token, c.Content); i++ {
			token = token[len(c.Content):]
		}
		for i := 0; i < c.Stop && strings.HasSuffix(token, c.Content); i++ {
			token = token[:len(token)-len(c.Content)]
		}
		return token
	}), nil
}
