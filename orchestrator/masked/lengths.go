package masked

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
)

// lengths tells how long the molecules of the training data are: in published tokens, as a client counts, and in those
// of the model.
type lengths struct {
	worth float64       // published tokens that a token of the model stands for in the mean
	kinds []lengthCount // by rising published length
	upTo  []int         // for each of kinds, how many molecules are of it or of one before it
}

// lengthCount is how many molecules have a length.
type lengthCount struct {
	tokens    int
	published int // 0 where the file does not tell
	count     int
}

// readLengths reads a file with a length in tokens, the published one, and a count on each line; or without the
// published one, which then follows from the worth of a token.
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
	for _, kind := range l.kinds {
		total += kind.count
		l.upTo = append(l.upTo, total)
	}
	return l, nil
}

func parseLength(line string) (lengthCount, error) {
	var kind lengthCount
	var err error
	if len(strings.Fields(line)) == 2 {
		_, err = fmt.Sscanf(line, "%d %d", &kind.tokens, &kind.count)
	} else if _, err = fmt.Sscanf(line, "%d %d %d", &kind.tokens, &kind.published, &kind.count); err == nil && kind.published < 1 {
		err = fmt.Errorf("the published length is %d", kind.published)
	}
	if err == nil && (kind.tokens < 1 || kind.count < 1) {
		err = fmt.Errorf("a length and its count are at least 1")
	}
	if err != nil {
		return kind, fmt.Errorf("%q is not a length in tokens, the published one, and a count: %w", line, err)
	}
	return kind, nil
}

// published draws the published length of a molecule of the training data.
func (l *lengths) published(random *rand.Rand) int {
	kind := l.draw(0, len(l.kinds), random)
	if kind.published == 0 {
		return whole(float64(kind.tokens)*l.worth, random)
	}
	return kind.published
}

// near is the share of a published length by which molecules that tell of it may be longer or shorter.
const near = 0.05

// tokens draws how many tokens a molecule of a published length has: as many as one of the training data that is about
// as long.
func (l *lengths) tokens(published int, random *rand.Rand) int {
	slack := 0.5 + near*float64(published)
	from := sort.Search(len(l.kinds), func(i int) bool { return float64(l.kinds[i].published) >= float64(published)-slack })
	to := sort.Search(len(l.kinds), func(i int) bool { return float64(l.kinds[i].published) > float64(published)+slack })
	if from < to && l.kinds[from].published > 0 {
		return l.draw(from, to, random).tokens
	}
	return max(1, whole(float64(published)/l.worth, random))
}

// draw picks the kind of one molecule among kinds[from:to].
func (l *lengths) draw(from, to int, random *rand.Rand) lengthCount {
	before := 0
	if from > 0 {
		before = l.upTo[from-1]
	}
	molecule := before + random.IntN(l.upTo[to-1]-before)
	return l.kinds[sort.SearchInts(l.upTo, molecule+1)]
}

// whole rounds up or down at random, so that the mean is exact.
func whole(x float64, random *rand.Rand) int { return int(x + random.Float64()) }
