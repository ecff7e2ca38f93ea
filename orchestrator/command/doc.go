// Package command has the commands for people who use a running service: optimize, sample, embed, decode, fill, rank,
// embed-text, chat and describe.
//
// A row is one molecule or text of the input, known by the line on which it stands. Each row becomes one or several
// records of the output, which come in the order of the rows. A row that cannot be answered is reported on standard
// error, and the others go on. Every record has the line of its row, so that a run that was interrupted can go on from
// its own output.
package command
