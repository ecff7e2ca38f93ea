package calibration

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Levels are the percentiles of the similarity of unrelated texts that are computed.
var Levels = []float64{50, 90, 99, 99.9}

// Percentiles are values by percentage of the distribution, such as "99.9".
type Percentiles map[string]float64

// PercentilesOf returns the Levels of values, rounded to 4 decimals. It sorts the values.
func PercentilesOf(values []float64) Percentiles {
	slices.Sort(values)
	p := make(Percentiles, len(Levels))
	for _, level := range Levels {
		value := stat.Quantile(level/100, stat.Empirical, values, nil)
		p[name(level)] = math.Round(value*1e4) / 1e4
	}
	return p
}

func name(level float64) string { return strconv.FormatFloat(level, 'g', -1, 64) }

// String returns the percentiles as ParsePercentiles reads them: "50=0.031 90=0.117 99=0.24 99.9=0.35".
func (p Percentiles) String() string {
	var parts []string
	for _, level := range Levels {
		if value, ok := p[name(level)]; ok {
			parts = append(parts, name(level)+"="+strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	return strings.Join(parts, " ")
}

// ParsePercentiles reads the form of String: percentages of Levels, each with a cosine from -1 to 1. Values rise with
// their percentages. An empty text has none.
func ParsePercentiles(text string) (Percentiles, error) {
	p := Percentiles{}
	last := -1.0
	for _, part := range strings.Fields(text) {
		level, number, found := strings.Cut(part, "=")
		value, err := strconv.ParseFloat(number, 64)
		known := slices.ContainsFunc(Levels, func(l float64) bool { return name(l) == level })
		if !found || err != nil || !known || !(value >= -1 && value <= 1) {
			return nil, fmt.Errorf("%q is not one of the percentages 50, 90, 99, 99.9 with a cosine from -1 to 1, such as 99=0.24", part)
		}
		if _, again := p[level]; again || value < last {
			return nil, fmt.Errorf("%q: percentages must rise, and their cosines with them", part)
		}
		p[level] = value
		last = value
	}
	return p, nil
}
