package command

import "github.com/alecthomas/kong"

// settingsCommands are the commands whose --help lists the settings of the gateway, of which there are more than a
// hundred.
var settingsCommands = map[string]bool{
	"serve": true, "check-config": true, "healthcheck": true, "model": true, "import": true,
}

// PrintHelp prints the help of the program or of a command.
func PrintHelp(options kong.HelpOptions, ctx *kong.Context) error {
	selected := ctx.Selected()
	if selected == nil || !settingsCommands[selected.Name] {
		hideSettings(ctx.Model)
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// hideSettings hides the settings from help. They are still accepted.
func hideSettings(app *kong.Application) {
	for _, flag := range app.Flags {
		if flag.Name != "help" {
			flag.Hidden = true
		}
	}
}
