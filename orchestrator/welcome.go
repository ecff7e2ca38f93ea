package main

import (
	"fmt"
	"net"
	"strings"
)

// welcome prints where every API and page is, and one request to try.
func (h *house) welcome() {
	var b strings.Builder
	main := h.address(0)
	fmt.Fprintf(&b, "\n  Retort %s is listening.\n\n", version)
	fmt.Fprintf(&b, "  %-26s %s/\n", "Page with everything", main)
	for i, s := range services {
		base := main + "/" + s.name
		if own := h.door(services[i].name); own != "" {
			base = own
		}
		fmt.Fprintf(&b, "  %-26s %-28s docs: %s/docs\n", s.title, base, base)
	}
	fmt.Fprintf(&b, "\n  Try:\n  curl %s/embedding/v1/embeddings -H 'Content-Type: application/json' \\\n", main)
	b.WriteString(`       -d '{"model": "retort/minilm-embedqa-v2", "input": ["What eases pain?"], "input_type": "query"}'`)
	b.WriteString("\n\n  Stop with Ctrl-C.\n\n")
	fmt.Fprint(h.stdout, b.String())
}

// door is the address of an API's own port, "" if it has none.
func (h *house) door(name string) string {
	for i, d := range h.doors {
		if d.name == name {
			return h.address(i)
		}
	}
	return ""
}

// address is a door's URL as one types it on this machine.
func (h *house) address(door int) string {
	scheme := "http"
	if h.secure != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(h.doors[door].listener.Addr().String())
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
