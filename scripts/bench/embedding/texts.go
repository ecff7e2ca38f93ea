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

// mixedTexts are 1,024 texts of 10 to 256 tokens: lengths uniformly distributed, in random order, the same in each run.
func mixedTexts(t *tokenizers.Tokenizer) ([]string, error) {
	words := strings.Fields(strings.Join(shortTexts(), " "))
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 1024)
	for i := range texts {
		tokens := 10 + random.IntN(247)
		var b strings.Builder
		for n := 2; n < tokens; n++ { // a word is at least one token
			b.WriteString(words[random.IntN(len(words))])
			b.WriteByte(' ')
		}
		var err error
		if texts[i], err = truncate(t, b.String(), tokens); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// truncate drops words at the end of text until it has at most n tokens, including special tokens.
func truncate(t *tokenizers.Tokenizer, text string, n int) (string, error) {
	for {
		text = strings.TrimSpace(text)
		e, err := t.Encode(text, tokenizers.Options{})
		if err != nil || len(e.IDs) <= n {
			return text, err
		}
		text = text[:strings.LastIndexByte(text, ' ')]
	}
}
