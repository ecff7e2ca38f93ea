package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// worded is what an API says is wrong, in one line. The APIs document different forms: a text in error, message or
// detail, an object in error, or a list of details with the place of each.
func worded(status int, body []byte) string {
	var said struct {
		Detail  json.RawMessage `json:"detail"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	found := ""
	if json.Unmarshal(body, &said) == nil {
		for _, part := range []json.RawMessage{said.Detail, said.Error} {
			if found == "" {
				found = detail(part)
			}
		}
		if found == "" {
			found = said.Message
		}
	}
	if found == "" {
		found = strings.TrimSpace(string(body))
	}
	found = strings.Join(strings.Fields(found), " ")
	if len(found) > 600 {
		found = strings.ToValidUTF8(found[:600], "") + "…"
	}
	if found == "" {
		return fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	return fmt.Sprintf("%s (%d)", found, status)
}

// detail words one member of an error.
func detail(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var one struct {
		Loc     []any  `json:"loc"`
		Msg     string `json:"msg"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &one) == nil {
		if one.Msg == "" {
			return one.Message
		}
		place := make([]string, 0, len(one.Loc))
		for _, step := range one.Loc {
			if step != "body" {
				place = append(place, fmt.Sprint(step))
			}
		}
		if len(place) == 0 {
			return one.Msg
		}
		return strings.Join(place, ".") + ": " + one.Msg
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil {
		return ""
	}
	var all []string
	for _, each := range several[:min(3, len(several))] {
		all = append(all, detail(each))
	}
	return strings.Join(all, "; ")
}
