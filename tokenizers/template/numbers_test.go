package template

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fractionalPower matches powers for which pow of Go and of C may differ in the last digits.
var fractionalPower = regexp.MustCompile(` \*\* -?[0-9]*\.[1-9]`)

// nearly reports whether two numbers differ by at most the rounding errors of pow.
func nearly(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, otherErr := strconv.ParseFloat(b, 64)
	return err == nil && otherErr == nil && math.Abs(x-y) <= 1e-13*math.Abs(y)
}

// TestNumbers compares expressions with the results of Jinja2 (scripts/golden/template_numbers.py).
func TestNumbers(t *testing.T) {
	data, err := os.ReadFile("testdata/numbers.txt")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(data)) {
		expression, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		checked++
		got, err := render("{{ "+expression+" }}", nil)
		switch {
		case want == "overflow":
			if err == nil || !strings.Contains(err.Error(), "integer overflow") {
				t.Errorf("%s: got %q, %v; want an integer overflow", expression, got, err)
			}
		case strings.HasPrefix(want, "error "):
			if err == nil {
				t.Errorf("%s: got %q; the reference has %s", expression, got, want)
			}
		default:
			var text string
			if err := json.Unmarshal([]byte(want), &text); err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			if err != nil || got != text && !(fractionalPower.MatchString(expression) && nearly(got, text)) {
				t.Errorf("%s: got %q, %v; want %q", expression, got, err, text)
			}
		}
	}
	if checked < 6000 {
		t.Errorf("%d expressions, want at least 6000", checked)
	}
}
