package command

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows a bar on standard error, with rows per second and the time left, if that is a terminal.
type progress struct {
	stderr io.Writer
	start  time.Time
	bar    *progressbar.ProgressBar // nil if there is no terminal
}

// barDelay is how long a command takes before its bar appears.
const barDelay = 700 * time.Millisecond

// newProgress returns a bar of the rows after line. Their number is unknown if the input can be read only once, as
// standard input and pipes can.
func newProgress(process *Process, from *source, line int, activity string) *progress {
	p := &progress{stderr: process.Stderr}
	if !isTerminal(p.stderr) {
		return p
	}
	total := -1
	if from.isRepeatable() {
		total = 0
		for row, err := range from.rows() {
			if err == nil && row.line > line {
				total++
			}
		}
	}
	p.start = time.Now()
	p.bar = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(p),
		progressbar.OptionSetDescription(activity),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("rows"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetRenderBlankState(true),
	)
	return p
}

func (p *progress) isVisible() bool { return p.bar != nil && time.Since(p.start) > barDelay }

// Write writes the bar once it is visible.
func (p *progress) Write(text []byte) (int, error) {
	if !p.isVisible() {
		return len(text), nil
	}
	return p.stderr.Write(text)
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
	if p.isVisible() {
		_ = p.bar.Exit()
		fmt.Fprintln(p.stderr)
	}
}

// showWeights prints what an import will do, and returns a function that adds to a bar of the bytes of weights read,
// if standard error is a terminal.
func (process *Process) showWeights(plan string, bytes int64) (onRead func(bytes int)) {
	if !isTerminal(process.Stderr) {
		return nil
	}
	process.report("importing %s", plan)
	p := &progress{stderr: process.Stderr, start: time.Now()}
	p.bar = progressbar.NewOptions64(bytes,
		progressbar.OptionSetWriter(p),
		progressbar.OptionSetDescription("weights"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionClearOnFinish(),
	)
	return func(bytes int) { _ = p.bar.Add(bytes) }
}
