package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// maxMessage bounds the message of a failure, in bytes.
const maxMessage = 600

// failure has the members in which the APIs report failures. Detail is a text, a problem or a list of problems with
// their places; Error is a text or an object.
type failure struct {
	Detail  json.RawMessage `json:"detail"`
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"`
}

// isFailure reports whether an event of a stream says that the request failed.
func isFailure(event []byte) bool {
	var f failure
	return json.Unmarshal(event, &f) == nil && (memberMessage(f.Detail) != "" || memberMessage(f.Error) != "")
}

// failureMessage returns the message of an API's failure as one line with the status.
func failureMessage(status int, body []byte) string {
	var f failure
	message := ""
	if json.Unmarshal(body, &f) == nil {
		message = memberMessage(f.Detail)
		if message == "" {
			message = memberMessage(f.Error)
		}
		if message == "" {
			message = f.Message
		}
	}
	if message == "" {
		message = string(body)
	}
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if message == "" {
		return fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	return fmt.Sprintf("%s (%d)", message, status)
}

// memberMessage returns the message in one member of a failure: a text, an object, or a list whose first three items it
// joins. It returns "" for anything else.
func memberMessage(member json.RawMessage) string {
	var text string
	if json.Unmarshal(member, &text) == nil {
		return text
	}
	var problem struct {
		Loc     []any  `json:"loc"`
		Msg     string `json:"msg"`
		Message string `json:"message"`
	}
	if json.Unmarshal(member, &problem) == nil {
		if problem.Msg == "" {
			return problem.Message
		}
		var place []string
		for _, step := range problem.Loc {
			if step != "body" {
				place = append(place, fmt.Sprint(step))
			}
		}
		if len(place) == 0 {
			return problem.Msg
		}
		return strings.Join(place, ".") + ": " + problem.Msg
	}
	var items []json.RawMessage
	if json.Unmarshal(member, &items) != nil {
		return ""
	}
	var messages []string
	for _, item := range items[:min(3, len(items))] {
		messages = append(messages, memberMessage(item))
	}
	return strings.Join(messages, "; ")
}
