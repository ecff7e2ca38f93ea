package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"retort/tokenizers"
)

// shortTexts are 120 questions of 8 to 16 tokens.
func shortTexts() []string {
	subjects := []string{"aspirin", "caffeine", "the liver", "a kinase", "insulin", "the river", "a bank card",
		"vitamin D", "an enzyme", "copper"}
	verbs := []string{"dissolve in water", "bind to its receptor", "work so quickly", "cost more this year",
		"change with age", "react with acids"}
	var texts []string
	for _, s := range subjects {
		for _, v := range verbs {
			texts = append(texts, fmt.Sprintf("Why does %s %s?", s, v),
				fmt.Sprintf("When did %s first %s, and where?", s, v))
		}
	}
	return texts
}

// mixedTexts are 1,024 texts whose lengths are spread evenly over 10 to 256 tokens, in random order, the same in every
// run.
func mixedTexts(t *tokenizers.Tokenizer) ([]string, error) {
	words := strings.Fields(strings.Join(shortTexts(), " "))
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 1024)
	for i := range texts {
		want := 10 + random.IntN(247)
		var b strings.Builder
		for n := 2; n < want; n++ { // a word is a token or a little more
			b.WriteString(words[random.IntN(len(words))])
			b.WriteByte(' ')
		}
		var err error
		if texts[i], err = cut(t, b.String(), want); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// cut drops words at the end of a text until it has at most n tokens, special ones included.
func cut(t *tokenizers.Tokenizer, text string, n int) (string, error) {
	for {
		text = strings.TrimSpace(text)
		e, err := t.Encode(text, tokenizers.Options{})
		if err != nil || len(e.IDs) <= n {
			return text, err
		}
		text = text[:strings.LastIndexByte(text, ' ')]
	}
}
