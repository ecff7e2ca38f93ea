package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstStateless is the first version of the protocol without sessions.
const firstStateless = "2026-07-28"

// message is the part of a request that the handler needs before the library reads it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TaskID string `json:"taskId"`
		Meta   struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// newHandler returns the handler of the endpoint. It answers a call of a tool that asks for progress with a stream,
// and any other request in one piece. Without sessions any replica can answer any request.
func newHandler(server func(*http.Request) *mcp.Server, origins string) http.Handler {
	options := mcp.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: -1} // the gateway has bounded the body
	ofRequest := func(r *http.Request) *mcp.Server { return r.Context().Value(serverKey{}).(*mcp.Server) }
	stream := mcp.NewStreamableHTTPHandler(ofRequest, &options)
	options.JSONResponse = true
	whole := mcp.NewStreamableHTTPHandler(ofRequest, &options)
	allowed := strings.Split(strings.ReplaceAll(origins, " ", ""), ",")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !isAllowed(origin, allowed) {
			writeFailure(w, http.StatusForbidden, nil, invalidRequest, "Origin: pages of this origin are not allowed")
			return
		}
		body, err := io.ReadAll(r.Body) // in memory already
		if err != nil {
			writeFailure(w, http.StatusBadRequest, nil, invalidRequest, "the body cannot be read")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m message
		isMessage := json.Unmarshal(body, &m) == nil
		switch {
		case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
			// In older versions of the protocol all calls of a batch would run at once with the permit of one request.
			writeFailure(w, http.StatusBadRequest, nil, invalidRequest, "batches are not accepted: send one call per request")
		case isMessage && m.Method == "subscriptions/listen":
			// A subscription would hold its permit for nothing, as no tool changes.
			writeFailure(w, http.StatusNotFound, m.ID, methodNotFound, "subscriptions/listen: nothing changes that could be subscribed to")
		case isMessage && hasWrongName(r, &m):
			writeFailure(w, http.StatusBadRequest, m.ID, mcp.CodeHeaderMismatch, "Mcp-Name: it must be the taskId of the body")
		case isMessage && m.Method == "tools/call" && isToken(m.Params.Meta.ProgressToken):
			stream.ServeHTTP(w, withServer(r, server))
		default:
			whole.ServeHTTP(w, withServer(r, server))
		}
	})
}

// serverKey is the key of the server in the context of its request. The library asks for it more than once.
type serverKey struct{}

func withServer(r *http.Request, server func(*http.Request) *mcp.Server) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), serverKey{}, server(r)))
}

// isAllowed reports whether scripts of an origin may call the tools: those of this machine, and the allowed ones. Other
// pages could reach a service that their user alone can reach.
func isAllowed(origin string, allowed []string) bool {
	if slices.Contains(allowed, origin) || slices.Contains(allowed, "*") {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// hasWrongName reports whether a request about a task names another one, or none, in its header. The library checks the
// headers of the protocol's own methods.
func hasWrongName(r *http.Request, m *message) bool {
	return slices.Contains([]string{"tasks/get", "tasks/update", "tasks/cancel"}, m.Method) && m.Params.TaskID != "" &&
		r.Header.Get("Mcp-Protocol-Version") >= firstStateless && r.Header.Get("Mcp-Name") != m.Params.TaskID
}

// isToken reports whether a progress token was given.
func isToken(token json.RawMessage) bool { return len(token) > 0 && string(token) != "null" }

// writeFailure answers with an error of JSON-RPC.
func writeFailure(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	body, err := json.Marshal(failure{Version: "2.0", ID: id, Error: problem{Code: code, Message: text}})
	if err != nil {
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
