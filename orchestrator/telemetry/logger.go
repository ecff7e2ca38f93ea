package telemetry

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// levels are the log levels by the names that the published services use.
var levels = map[string]zerolog.Level{
	"default":  zerolog.InfoLevel,
	"trace":    zerolog.TraceLevel,
	"debug":    zerolog.DebugLevel,
	"info":     zerolog.InfoLevel,
	"warn":     zerolog.WarnLevel,
	"warning":  zerolog.WarnLevel,
	"error":    zerolog.ErrorLevel,
	"critical": zerolog.FatalLevel,
}

// ParseLevel returns the level with a name, in any case.
func ParseLevel(name string) (zerolog.Level, error) {
	level, known := levels[strings.ToLower(name)]
	if !known {
		return zerolog.NoLevel, fmt.Errorf("%q is not a log level", name)
	}
	return level, nil
}

// NewLogger returns a logger that writes lines to out. The format is "json", "pretty" (text), or "auto": text if out
// is a terminal, else JSON.
func NewLogger(out io.Writer, level, format string) (zerolog.Logger, error) {
	lvl, err := ParseLevel(level)
	if err != nil {
		return zerolog.Nop(), err
	}
	if format == "pretty" || format == "auto" && isTerminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !isTerminal(out)}
	}
	return zerolog.New(out).Level(lvl).With().Timestamp().Logger(), nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
