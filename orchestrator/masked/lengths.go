package masked

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
)

// lengths tells how many molecules of the training data have how many tokens.
type lengths struct {
	tokens []int // the lengths that occur, as the file lists them
	upTo   []int // for each of them, how many molecules have that length or one listed before it
}

// readLengths reads a file with a length and a count on each line.
func readLengths(path string) (*lengths, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := &lengths{}
	total := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var tokens, count int
		if n, err := fmt.Sscanf(lines.Text(), "%d %d", &tokens, &count); n != 2 || tokens < 1 || count < 1 {
			return nil, fmt.Errorf("%s: line %d is not a length and a count: %q (%v)", path, len(l.tokens)+1, lines.Text(), err)
		}
		total += count
		l.tokens = append(l.tokens, tokens)
		l.upTo = append(l.upTo, total)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if total == 0 {
		return nil, fmt.Errorf("%s: no lengths", path)
	}
	return l, nil
}

// draw picks the length of a molecule of the training data.
func (l *lengths) draw(random *rand.Rand) int {
	molecule := random.IntN(l.upTo[len(l.upTo)-1])
	return l.tokens[sort.SearchInts(l.upTo, molecule+1)]
}
