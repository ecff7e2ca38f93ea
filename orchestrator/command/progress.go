package command

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows a bar on standard error, with rows per second and the time left, if that is a terminal.
type progress struct {
	process *Process
	bar     *progressbar.ProgressBar // nil if there is no terminal
	writer  *delayedWriter
}

// barDelay is how long a command takes before its bar appears.
const barDelay = 700 * time.Millisecond

// delayedWriter drops what is written in the first moments.
type delayedWriter struct {
	to    io.Writer
	start time.Time
}

func (w *delayedWriter) isOpen() bool { return time.Since(w.start) > barDelay }

func (w *delayedWriter) Write(p []byte) (int, error) {
	if !w.isOpen() {
		return len(p), nil
	}
	return w.to.Write(p)
}

// newProgress counts the rows after line, except those of standard input, whose number is unknown.
func newProgress(p *Process, from *source, line int, activity string) *progress {
	if !isTerminal(p.Stderr) {
		return &progress{process: p}
	}
	total := -1
	if from.file != "-" {
		total = 0
		for row, err := range from.rows() {
			if err == nil && row.line > line {
				total++
			}
		}
	}
	writer := &delayedWriter{to: p.Stderr, start: time.Now()}
	bar := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(writer),
		progressbar.OptionSetDescription(activity),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("rows"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetRenderBlankState(true),
	)
	return &progress{process: p, bar: bar, writer: writer}
}

func (p *progress) add(rows int) {
	if p.bar != nil {
		_ = p.bar.Add(rows) // a bar that cannot be drawn does not fail the command
	}
}

// describe shows a text in front of the bar.
func (p *progress) describe(format string, values ...any) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf(format, values...))
	}
}

// clear hides the bar until it is drawn again.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// end leaves the bar above what is written next.
func (p *progress) end() {
	if p.bar != nil && p.writer.isOpen() {
		_ = p.bar.Exit()
		fmt.Fprintln(p.process.Stderr)
	}
}
