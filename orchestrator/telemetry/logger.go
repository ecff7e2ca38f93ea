package telemetry

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// levels are the names of levels, those of the published services too.
var levels = map[string]zerolog.Level{
	"default": zerolog.InfoLevel, "trace": zerolog.TraceLevel, "debug": zerolog.DebugLevel, "info": zerolog.InfoLevel,
	"warn": zerolog.WarnLevel, "warning": zerolog.WarnLevel, "error": zerolog.ErrorLevel, "critical": zerolog.FatalLevel,
}

// ParseLevel reads the name of a level, in any case.
func ParseLevel(name string) (zerolog.Level, error) {
	level, known := levels[strings.ToLower(name)]
	if !known {
		return zerolog.NoLevel, fmt.Errorf("%q is no level", name)
	}
	return level, nil
}

// NewLogger returns a logger of whole lines on out: readable text or JSON. Format "auto" is text when out is a terminal
// and JSON elsewhere.
func NewLogger(out io.Writer, level, format string) (zerolog.Logger, error) {
	lvl, err := ParseLevel(level)
	if err != nil {
		return zerolog.Nop(), err
	}
	if format == "pretty" || format == "auto" && Terminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !Terminal(out)}
	}
	return zerolog.New(out).Level(lvl).With().Timestamp().Logger(), nil
}

// Terminal reports whether what is written is for a person at a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
