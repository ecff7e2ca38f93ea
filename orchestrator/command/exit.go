package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"retort/orchestrator/client"
)

// The exit codes of all commands.
const (
	exitFailed      = 1   // a file, a setting or the service refused
	exitUsage       = 2   // the command line is wrong
	exitRows        = 3   // some rows could not be answered; the others are in the output
	exitUnreachable = 4   // the service does not answer, or went away; what was done is in the output
	exitInterrupted = 130 // by Ctrl-C or SIGTERM; what was done is in the output
)

// RowsError says how many rows could not be answered. Each has been reported.
type RowsError struct{ Bad, All int }

func (e *RowsError) Error() string {
	return fmt.Sprintf("%d of %d rows could not be answered", e.Bad, e.All)
}

// ExitCode is the exit code that an error of the program means.
func ExitCode(err error) int {
	var rows *RowsError
	var usage *kong.ParseError
	var unreachable *client.UnreachableError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &rows):
		return exitRows
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
}

// exitCodes explains them in the manual.
const exitCodes = `0 all rows were answered; 1 something failed: a file, a setting, or the service refused; 2 the command line is wrong; ` +
	`3 some rows could not be answered, each of which is reported on standard error with its line; ` +
	`4 the service does not answer or went away; 130 interrupted. Whatever was done until then is in the output.`
