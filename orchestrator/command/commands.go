// Package command has the commands of the command line that do not read the gateway's settings: those that call a
// running service, such as optimize and rank, and describe, jobs, model and man.
//
// Most of them read rows and write records, in the order of the rows. A row that cannot be answered is reported on
// standard error, and the others are answered. Every record has the line of its row, so that an interrupted run can
// continue from its own output.
//
// Terms:
//   - row: a molecule, template, text or hidden state of the input, identified by its line.
//   - record: a line of the output; a row has one or several.
//   - batch: rows that are sent in one request.
//   - kept column: a column of the input that --keep copies to the output.
package command

import (
	"slices"

	"github.com/alecthomas/kong"
)

// Commands are the commands for molecules, texts and images.
type Commands struct {
	Optimize  optimizeCommand  `cmd:"" group:"Molecules" help:"Search for better molecules near given ones."`
	Sample    sampleCommand    `cmd:"" group:"Molecules" help:"Sample molecules around given ones in latent space."`
	Embed     embedCommand     `cmd:"" group:"Molecules" help:"Compute vectors or hidden states of molecules."`
	Decode    decodeCommand    `cmd:"" group:"Molecules" help:"Decode hidden states to molecules."`
	Fill      fillCommand      `cmd:"" group:"Molecules" help:"Fill the masks of templates."`
	Describe  describeCommand  `cmd:"" group:"Molecules" help:"Compute properties of molecules, without a service."`
	EmbedText embedTextCommand `cmd:"" group:"Texts and images" help:"Compute vectors of texts."`
	Rank      rankCommand      `cmd:"" group:"Texts and images" help:"Rank passages by relevance to a query."`
	Chat      chatCommand      `cmd:"" group:"Texts and images" help:"Ask questions, also about images."`
	Replay    replayCommand    `cmd:"" group:"Answers" help:"Send recorded requests again and compare the answers."`
	Compare   compareCommand   `cmd:"" group:"Answers" help:"Compare two models on data of your own."`
}

// settingsCommands are the commands that use the gateway's settings. Only their --help lists these hundred flags.
var settingsCommands = map[string]bool{"serve": true, "check-config": true, "healthcheck": true}

// PrintHelp prints the help of the program or of a command.
func PrintHelp(options kong.HelpOptions, ctx *kong.Context) error {
	selected := ctx.Selected()
	switch {
	case selected != nil && settingsCommands[selected.Name]: // lists all settings
	case selected != nil && selected.Name == "version":
		hideSettings(ctx.Model, "model-repository")
	default:
		hideSettings(ctx.Model)
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// hideSettings removes the settings from the help, except those with the given names. The command line still accepts
// them.
func hideSettings(app *kong.Application, except ...string) {
	for _, flag := range app.Flags {
		if flag.Name != "help" && !slices.Contains(except, flag.Name) {
			flag.Hidden = true
		}
	}
}
