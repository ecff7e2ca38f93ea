package telemetry

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
)

// NewLogger returns a logger of whole lines on out: readable text or JSON. Format "auto" is text when out is a terminal
// and JSON elsewhere.
func NewLogger(out io.Writer, level, format string) (zerolog.Logger, error) {
	lvl, err := zerolog.ParseLevel(level)
	if err != nil {
		return zerolog.Nop(), err
	}
	if format == "pretty" || format == "auto" && terminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !terminal(out)}
	}
	return zerolog.New(out).Level(lvl).With().Timestamp().Logger(), nil
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
