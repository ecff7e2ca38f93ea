package masked

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// lengths is the distribution of the lengths of the training molecules, in API tokens and in tokens of the model. Its
// exported methods implement Model.
type lengths struct {
	apiTokensPerToken float64  // on average
	bins              []length // sorted by API tokens
	all               cumulative
	quality           cumulative // of the molecules of quality; nil if the file does not count them
}

// cumulative has the number of molecules in each bin and all bins before it.
type cumulative []int

// length is a bin: the molecules of one length.
type length struct {
	tokens    int
	apiTokens int // 0 if the file does not have it
	count     int
	quality   int // molecules of quality
}

// readLengths reads a file with a bin on each line: tokens, API tokens, number of molecules, and number of molecules of
// quality. A line may lack the last number. A line of two numbers has tokens and molecules; the length in API tokens
// then follows from the average.
func readLengths(path string) (*lengths, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := &lengths{apiTokensPerToken: 1}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		bin, err := parseLength(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(l.bins)+1, err)
		}
		l.bins = append(l.bins, bin)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(l.bins) == 0 {
		return nil, fmt.Errorf("%s: no lengths", path)
	}
	slices.SortFunc(l.bins, func(a, b length) int {
		return cmp.Or(a.apiTokens-b.apiTokens, a.tokens-b.tokens)
	})
	all := 0
	quality := 0
	for _, bin := range l.bins {
		all += bin.count
		quality += bin.quality
		l.all = append(l.all, all)
		l.quality = append(l.quality, quality)
	}
	if quality == 0 {
		l.quality = nil
	}
	return l, nil
}

func parseLength(line string) (bin length, err error) {
	fields := strings.Fields(line)
	numbers := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n == 0 && i < 3 {
			return bin, fmt.Errorf("field %d of %q is %q, not a length or a number of molecules", i+1, line, field)
		}
		numbers[i] = n
	}
	switch len(numbers) {
	case 2:
		bin = length{tokens: numbers[0], count: numbers[1]}
	case 3, 4:
		bin = length{tokens: numbers[0], apiTokens: numbers[1], count: numbers[2]}
		if len(numbers) == 4 {
			bin.quality = numbers[3]
		}
	default:
		return bin, fmt.Errorf("%q has %d fields, not 2 to 4: "+
			"tokens, tokens of the API, number of molecules, number of molecules of quality", line, len(numbers))
	}
	return bin, nil
}

func (l *lengths) APITokensPerToken() float64 { return l.apiTokensPerToken }

func (l *lengths) DrawLength(quality bool, random *rand.Rand) int {
	from := l.all
	if quality && l.quality != nil {
		from = l.quality
	}
	bin := l.bins[from.draw(0, len(l.bins), random)]
	if bin.apiTokens == 0 {
		return roundRandomly(float64(bin.tokens)*l.apiTokensPerToken, random)
	}
	return bin.apiTokens
}

// lengthTolerance is the relative difference of lengths that count as similar.
const lengthTolerance = 0.05

// DrawTokens returns the number of tokens of a random training molecule of similar length. If there is none, the
// average decides.
func (l *lengths) DrawTokens(apiTokens int, quality bool, random *rand.Rand) int {
	wanted := float64(apiTokens)
	slack := 0.5 + lengthTolerance*wanted
	from := sort.Search(len(l.bins), func(i int) bool { return float64(l.bins[i].apiTokens) >= wanted-slack })
	to := sort.Search(len(l.bins), func(i int) bool { return float64(l.bins[i].apiTokens) > wanted+slack })
	if from < to && l.bins[from].apiTokens > 0 {
		among := l.all
		if quality && l.quality.count(from, to) > 0 {
			among = l.quality
		}
		return l.bins[among.draw(from, to, random)].tokens
	}
	return max(1, roundRandomly(wanted/l.apiTokensPerToken, random))
}

// count returns the number of molecules in the bins from..to-1, 0 if c is nil.
func (c cumulative) count(from, to int) int {
	if c == nil {
		return 0
	}
	return c[to-1] - c.before(from)
}

// draw draws one molecule of the bins from..to-1, and returns its bin.
func (c cumulative) draw(from, to int, random *rand.Rand) (bin int) {
	return sort.SearchInts(c, c.before(from)+random.IntN(c.count(from, to))+1)
}

// before returns the number of molecules before a bin.
func (c cumulative) before(bin int) int {
	if bin == 0 {
		return 0
	}
	return c[bin-1]
}

// roundRandomly rounds up or down at random, so that the expected value is x.
func roundRandomly(x float64, random *rand.Rand) int { return int(x + random.Float64()) }
