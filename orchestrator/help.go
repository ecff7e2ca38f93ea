package main

import (
	"github.com/alecthomas/kong"
)

const description = "Molecules, texts and pictures through five inference APIs in front of a Triton Inference Server. " +
	"Without a command it serves the APIs: retort serve --help has the settings. The other commands ask a running service, " +
	"at http://127.0.0.1:8000 unless --url or RETORT_URL says otherwise. retort COMMAND --help tells more about each."

// servers are the commands that settings are for. The others get help without them, of which there are more than a
// hundred.
var servers = map[string]bool{"serve": true, "check-config": true, "healthcheck": true, "model": true, "import": true}

// help prints the help of the program or a command.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	selected := ctx.Selected()
	if selected == nil || !servers[selected.Name] {
		hideSettings(ctx.Model)
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// hideSettings leaves the settings out of what is printed. They are read all the same.
func hideSettings(app *kong.Application) {
	for _, flag := range app.Flags {
		if flag.Name != "help" {
			flag.Hidden = true
		}
	}
}
