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
	exitRows        = 3   // some rows could not be answered
	exitUnreachable = 4   // the service does not answer
	exitInterrupted = 130 // by Ctrl-C or SIGTERM
)

// exitCodes explains the exit codes in the manual.
const exitCodes = `0 all rows were answered; ` +
	`1 something failed: a file, a setting, or the service refused; ` +
	`2 the command line is wrong; ` +
	`3 some rows could not be answered, each of which is reported on standard error with its line; ` +
	`4 the service does not answer or went away; ` +
	`130 interrupted. The answers so far are in the output.`

// rowsError is the error of a run in which some rows could not be answered. Each has been reported.
type rowsError struct{ failed, total int }

func (e *rowsError) Error() string {
	return fmt.Sprintf("%d of %d rows could not be answered", e.failed, e.total)
}

// ExitCode returns the exit code for an error of the program.
func ExitCode(err error) int {
	var rows *rowsError
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
