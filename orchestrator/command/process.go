package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/mattn/go-isatty"
)

// Process is what a command sees of the process that it runs in.
type Process struct {
	Context context.Context
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	stderr sync.Mutex // serializes the messages of concurrent requests
}

// report writes a message to standard error, in place of a progress bar.
func (p *Process) report(format string, values ...any) {
	message := printable(fmt.Sprintf(format, values...), "")
	clear := ""
	if isTerminal(p.Stderr) {
		clear = "\r\033[K"
	}
	p.stderr.Lock()
	defer p.stderr.Unlock()
	fmt.Fprintf(p.Stderr, "%s%s\n", clear, message)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// printable returns a text with its control characters replaced, because they could move the cursor or change what is
// on the terminal. The characters in allowed stay.
func printable(text, allowed string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
