package main

import (
	"strings"
	"testing"

	"retort/orchestrator/command"
)

// Every command has a manual page with its flags and without the settings of the gateway.
func TestManualPages(t *testing.T) {
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	pages := command.ManPages(parser.Model)
	for name, flags := range map[string][]string{
		"retort":           {"retort-optimize(1)", "retort-jobs(1)", "Exit status"},
		"retort-optimize":  {"min-similarity", "objective", "resume", "url", "molecule"},
		"retort-describe":  {"input-format", "output"},
		"retort-chat":      {"image", "system", "api-key-file"},
		"retort-jobs-list": {"limit", "format"},
		"retort-man":       {"folder"},
	} {
		page := strings.ReplaceAll(pages[name], `\-`, "-")
		for _, flag := range flags {
			if !strings.Contains(strings.ToLower(page), strings.ToLower(flag)) {
				t.Errorf("%s does not mention %s:\n%s", name, flag, page)
			}
		}
		if strings.Contains(page, "triton-url") {
			t.Errorf("%s has settings of the gateway", name)
		}
	}
	for _, node := range parser.Model.Leaves(true) {
		name := "retort-" + strings.ReplaceAll(strings.TrimPrefix(node.FullPath(), "retort "), " ", "-")
		page := strings.ReplaceAll(pages[name], `\-`, "-")
		if page == "" {
			t.Errorf("%s has no page", name)
		}
		for _, flag := range node.Flags {
			if !flag.Hidden && !strings.Contains(page, flag.Name) {
				t.Errorf("%s does not mention --%s", name, flag.Name)
			}
		}
	}
}
