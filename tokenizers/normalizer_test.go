package tokenizers

import "testing"

func TestMatchWhitespace(t *testing.T) {
	for text, want := range map[string]int{
		"  a": 2, " \n\ta": 3, "\u00a0\u2003a": 5, "\na": 1, "\ta": 1, "\r": 1,
		" a": 0, "\va": 0, "\fa": 0, "\u00a0a": 0, "a  ": 0, "": 0,
	} {
		if got := matchWhitespace([]byte(text)); got != want {
			t.Errorf("%q matches %d bytes, want %d", text, got, want)
		}
	}
}
