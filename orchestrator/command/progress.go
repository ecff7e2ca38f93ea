package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on standard error with rows a second and the time left; nothing where that is no terminal.
type progress struct {
	process *Process
	bar     *progressbar.ProgressBar
	late    *late
}

// patience is how long work takes before a bar appears.
const patience = 700 * time.Millisecond

// late drops what is written in the first moments, so that short work shows no bar.
type late struct {
	to    io.Writer
	begin time.Time
}

func (l *late) showing() bool { return time.Since(l.begin) > patience }

func (l *late) Write(p []byte) (int, error) {
	if !l.showing() {
		return len(p), nil
	}
	return l.to.Write(p)
}

// newProgress counts the rows of a file first: standard input has an unknown number of them.
func newProgress(p *Process, s *sink, from *source, verb string) *progress {
	made := &progress{process: p}
	if !isTerminal(p.Stderr) {
		return made
	}
	total := -1
	if from.file != "-" {
		total = 0
		for row, err := range from.rows() {
			if err == nil && row.Line > s.done.line {
				total++
			}
		}
	}
	made.late = &late{to: p.Stderr, begin: time.Now()}
	made.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(made.late), progressbar.OptionSetDescription(verb),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"),
		progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetRenderBlankState(true))
	return made
}

func (p *progress) add(rows int) {
	if p.bar != nil {
		_ = p.bar.Add(rows) // a bar that cannot be drawn is no error of the work
	}
}

// describe puts a text before the bar.
func (p *progress) describe(text string) {
	if p.bar != nil {
		p.bar.Describe(text)
	}
}

// say writes a line on standard error, in place of the bar, which is drawn again below it.
func (p *progress) say(format string, values ...any) {
	p.clear()
	p.process.tell("%s\n", shown(fmt.Sprintf(format, values...)))
}

// clear takes the bar away until it is drawn again.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// end leaves the bar as it is, above what comes next.
func (p *progress) end() {
	if p.bar != nil && p.late.showing() {
		_ = p.bar.Exit()
		fmt.Fprintln(p.process.Stderr)
	}
}

// clearLine is what removes a bar from the line that a message is written on.
func clearLine(p *Process) string {
	if file, ok := p.Stderr.(*os.File); ok && isTerminal(file) {
		return "\r\033[K"
	}
	return ""
}
