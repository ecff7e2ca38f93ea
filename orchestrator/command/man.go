package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/muesli/mango"
	"github.com/muesli/roff"
)

// Man is retort man.
type Man struct {
	Command []string `arg:"" optional:"" help:"Command, such as sample or jobs list; without one, the program itself."`
	Folder  string   `env:"-" type:"path" placeholder:"DIR" help:"Write the pages of all commands to a folder, such as ~/.local/share/man/man1."`
}

// Help returns the examples of --help.
func (Man) Help() string {
	return "Examples:\n\n  retort man optimize | man -l -\n  retort man --folder ~/.local/share/man/man1"
}

// Run prints one page, or writes all pages to a folder.
func (c *Man) Run(p *Process, parsed *kong.Context) error {
	pages := ManPages(parsed.Model)
	if c.Folder == "" {
		name := strings.Join(append([]string{parsed.Model.Name}, c.Command...), "-")
		page, ok := pages[name]
		if !ok {
			return fmt.Errorf("no such command: %s", strings.Join(c.Command, " "))
		}
		_, err := fmt.Fprint(p.Stdout, page)
		return err
	}
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(c.Folder, name+".1"), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ManPages returns the manual pages of all commands by name, such as retort-jobs-list. They are rendered from the
// command line's own model, so they always match it.
func ManPages(app *kong.Application) map[string]string {
	hideSettings(app)
	pages := map[string]string{}
	var add func(node *kong.Node, name string)
	add = func(node *kong.Node, name string) {
		pages[name] = manPage(node, name)
		for _, child := range node.Children {
			if !child.Hidden {
				add(child, name+"-"+child.Name)
			}
		}
	}
	add(app.Node, app.Name)
	return pages
}

func manPage(node *kong.Node, name string) string {
	summary, _, _ := strings.Cut(node.Help, ". ")
	page := mango.NewManPage(1, name, strings.TrimSuffix(summary, "."))
	page = page.WithLongDescription(strings.TrimSpace(node.Help + "\n\n" + node.Detail))
	for _, group := range node.AllFlags(true) {
		for _, flag := range group {
			short := ""
			if flag.Short != 0 {
				short = string(flag.Short)
			}
			_ = page.Root.AddFlag(mango.Flag{
				Name:  strings.TrimPrefix(flag.Summary(), "--"),
				Short: short,
				Usage: kong.DefaultHelpValueFormatter(flag.Value),
				PFlag: true,
			})
		}
	}
	for _, argument := range node.Positional {
		page = page.WithSection("Argument "+argument.Summary(), argument.Help)
	}
	var children []string
	for _, child := range node.Children {
		if !child.Hidden {
			children = append(children, name+"-"+child.Name+"(1): "+child.Help)
		}
	}
	if len(children) > 0 {
		page = page.WithSection("Commands", strings.Join(children, "\n\n"))
	}
	page = page.WithSection("Exit status", exitCodes)
	return page.Build(roff.NewDocument())
}
