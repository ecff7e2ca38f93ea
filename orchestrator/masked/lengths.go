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

// lengths tells how long the molecules of the training data are: in published tokens, as a client counts, and in those
// of the model.
type lengths struct {
	worth float64       // published tokens that a token of the model stands for on average
	kinds []lengthCount // by rising published length
	all   tally         // of the molecules of each kind
	good  tally         // of those of quality; nil where the file does not tell
}

// tally has, for each kind of length, how many molecules are of it or of one before it.
type tally []int

// lengthCount is how many molecules have a length.
type lengthCount struct {
	tokens    int
	published int // 0 where the file does not tell
	count     int
	good      int // of quality
}

// readLengths reads a file with a length in tokens, the published one, the number of molecules that have both, and how
// many of these are of quality, on each line. A line may end after the third number; or have two, without the published
// length, which then follows from the worth of a token.
func readLengths(path string) (*lengths, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := &lengths{worth: 1}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		kind, err := parseLength(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(l.kinds)+1, err)
		}
		l.kinds = append(l.kinds, kind)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(l.kinds) == 0 {
		return nil, fmt.Errorf("%s: no lengths", path)
	}
	slices.SortFunc(l.kinds, func(a, b lengthCount) int {
		return cmp.Or(a.published-b.published, a.tokens-b.tokens)
	})
	total := 0
	good := 0
	for _, kind := range l.kinds {
		total += kind.count
		good += kind.good
		l.all = append(l.all, total)
		l.good = append(l.good, good)
	}
	if good == 0 {
		l.good = nil
	}
	return l, nil
}

func parseLength(line string) (kind lengthCount, err error) {
	fields := strings.Fields(line)
	numbers := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n == 0 && i < 3 {
			return kind, fmt.Errorf("%q in place %d of %q is not a length or a number of molecules", field, i+1, line)
		}
		numbers[i] = n
	}
	switch len(numbers) {
	case 2:
		kind = lengthCount{tokens: numbers[0], count: numbers[1]}
	case 3, 4:
		kind = lengthCount{tokens: numbers[0], published: numbers[1], count: numbers[2]}
		if len(numbers) == 4 {
			kind.good = numbers[3]
		}
	default:
		return kind, fmt.Errorf("%q is not a length in tokens, the published one, a number of molecules and one of those of quality", line)
	}
	return kind, nil
}

// published draws the published length of a molecule of the training data, or of those of quality.
func (l *lengths) published(quality bool, random *rand.Rand) int {
	from := l.all
	if quality && l.good != nil {
		from = l.good
	}
	kind := l.kinds[from.draw(0, len(l.kinds), random)]
	if kind.published == 0 {
		return whole(float64(kind.tokens)*l.worth, random)
	}
	return kind.published
}

// near is the share of a published length by which molecules that tell of it may be longer or shorter.
const near = 0.05

// tokens draws how many tokens a molecule of a published length has: as many as one of the training data, or of those
// of quality, that is about as long.
func (l *lengths) tokens(published int, quality bool, random *rand.Rand) int {
	slack := 0.5 + near*float64(published)
	from := sort.Search(len(l.kinds), func(i int) bool { return float64(l.kinds[i].published) >= float64(published)-slack })
	to := sort.Search(len(l.kinds), func(i int) bool { return float64(l.kinds[i].published) > float64(published)+slack })
	if from < to && l.kinds[from].published > 0 {
		among := l.all
		if quality && l.good.count(from, to) > 0 {
			among = l.good
		}
		return l.kinds[among.draw(from, to, random)].tokens
	}
	return max(1, whole(float64(published)/l.worth, random))
}

// count is how many molecules the kinds from to to-1 have; 0 of no tally.
func (t tally) count(from, to int) int {
	if t == nil {
		return 0
	}
	if from == 0 {
		return t[to-1]
	}
	return t[to-1] - t[from-1]
}

// draw picks one molecule among those of the kinds from to to-1, and gives its kind.
func (t tally) draw(from, to int, random *rand.Rand) (kind int) {
	before := 0
	if from > 0 {
		before = t[from-1]
	}
	return sort.SearchInts(t, before+random.IntN(t[to-1]-before)+1)
}

// whole rounds up or down at random, so that the mean is exact.
func whole(x float64, random *rand.Rand) int { return int(x + random.Float64()) }
