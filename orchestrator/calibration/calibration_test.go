package calibration_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/calibration"
)

// scripts/golden/calibration.py writes the expected values.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name        string
		Logits      []float32
		Relevant    []int
		Beta        [3]float64
		EqualMass   float64 `json:"equal_mass"`
		EqualWidth  float64 `json:"equal_width"`
		Percentiles []float64
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 4 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		var pairs []calibration.Pair
		var scores []calibration.Scored
		var logits []float64
		for i, logit := range c.Logits {
			relevant := c.Relevant[i] == 1
			pairs = append(pairs, calibration.Pair{Logit: logit, Relevant: relevant})
			scores = append(scores, calibration.Scored{Score: calibration.Identity.Score(logit), Relevant: relevant})
			logits = append(logits, float64(logit))
		}
		fit, err := calibration.Fit(pairs)
		for i, got := range [3]float64{fit.Low, fit.High, fit.Offset} {
			if err != nil || math.Abs(got-c.Beta[i]) > 1e-4*(1+math.Abs(c.Beta[i])) {
				t.Errorf("%s: %+v, %v, want %v", c.Name, fit, err, c.Beta)
			}
		}
		if got := calibration.EqualMass(scores); math.Abs(got-c.EqualMass) > 1e-5 {
			t.Errorf("%s: equal mass %v, want %v", c.Name, got, c.EqualMass)
		}
		if got := calibration.EqualWidth(scores); math.Abs(got-c.EqualWidth) > 1e-5 {
			t.Errorf("%s: equal width %v, want %v", c.Name, got, c.EqualWidth)
		}
		found := calibration.PercentilesOf(logits)
		for i, level := range []string{"50", "90", "99", "99.9"} {
			if math.Abs(found[level]-c.Percentiles[i]) > 1e-4 {
				t.Errorf("%s: percentile %s is %v, want %v", c.Name, level, found[level], c.Percentiles[i])
			}
		}
	}
}

// Whatever the calibration, a higher logit has no lower score.
func TestScoresRiseWithLogits(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l := calibration.Beta{
			Low:    8*chance.Float64() + 0.001,
			High:   math.Exp(12 * (chance.Float64() - 0.5)),
			Offset: 40 * (chance.Float64() - 0.5),
		}
		logits := make([]float32, 100)
		for i := range logits {
			logits[i] = float32(200 * (chance.Float64() - 0.5))
		}
		slices.Sort(logits)
		last := 0.0
		for _, logit := range logits {
			score := l.Score(logit)
			if !(score >= last && score <= 1) {
				t.Fatalf("%+v: logit %v has score %v, a lower logit %v", l, logit, score, last)
			}
			last = score
		}
	}
}

func TestFitRefusals(t *testing.T) {
	for want, pairs := range map[string][]calibration.Pair{
		"relevant pairs and others": {{Logit: 1, Relevant: true}, {Logit: 2, Relevant: true}},
		"not higher":                {{Logit: 1, Relevant: true}, {Logit: 2}, {Logit: 1, Relevant: true}, {Logit: 3}, {Logit: 2}},
	} {
		if fit, err := calibration.Fit(pairs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, %v", pairs, fit, err)
		}
	}
	if _, err := calibration.Fit([]calibration.Pair{{Logit: 3, Relevant: true}, {Logit: 3}}); err == nil {
		t.Error("equal logits have a fit")
	}
}

func TestBetaIsParsed(t *testing.T) {
	b, err := calibration.ParseBeta(" 0.0036 0.379 -3.507 ")
	if err != nil || b != (calibration.Beta{Low: 0.0036, High: 0.379, Offset: -3.507}) || b.String() != "0.0036 0.379 -3.507" {
		t.Errorf("%v %v", b, err)
	}
	if b, err := calibration.ParseBeta(calibration.Identity.String()); err != nil || b != calibration.Identity {
		t.Errorf("%v %v", b, err)
	}
	for _, text := range []string{"", "1", "1 1", "1 1 x", "1 1 0 0", "0 1 0", "1 -1 0", "NaN 1 0", "1 1 Inf", "1 1e7 0"} {
		if b, err := calibration.ParseBeta(text); err == nil {
			t.Errorf("%q: %v", text, b)
		}
	}
}

// Without a calibration, the score is the logistic function of the logit, to the last bit.
func TestIdentity(t *testing.T) {
	for _, logit := range []float32{-200, -6.8, -1, 0, 1e-6, 0.5, 2, 90} {
		if got, want := calibration.Identity.Score(logit), 1/(1+math.Exp(-float64(logit))); got != want {
			t.Errorf("%v: %v, want %v", logit, got, want)
		}
	}
}

func TestPercentilesAreParsed(t *testing.T) {
	const text = "50=-0.02 90=0.117 99=0.24 99.9=0.35"
	p, err := calibration.ParsePercentiles(text)
	if err != nil || p.String() != text || p["99"] != 0.24 {
		t.Errorf("%v %v", p, err)
	}
	if p, err := calibration.ParsePercentiles(""); err != nil || len(p) != 0 {
		t.Errorf("%v %v", p, err)
	}
	for _, text := range []string{"50", "50=", "50=2", "51=0.1", "50=NaN", "90=0.3 50=0.1", "50=0.3 90=0.2", "50=0.1 50=0.1", "0.1"} {
		if p, err := calibration.ParsePercentiles(text); err == nil {
			t.Errorf("%q: %v", text, p)
		}
	}
}
