package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"retort/orchestrator/chat"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// Store keeps the contents of responses, so that later requests can read and continue them. caller identifies the key
// of a client, see gateway.Caller: a response of another caller does not exist. The error for one that does not exist
// is a NotFound.
type Store interface {
	// Ready returns nil while responses can be stored.
	Ready() error
	// NewID returns the id of a new response.
	NewID() string
	// Reserve takes memory for contents of size bytes until release is called.
	Reserve(ctx context.Context, size int64) (release func(), err error)
	// Save stores the content of a response. previous is the id of the response that it continues, or "".
	Save(ctx context.Context, caller, id, previous string, content []byte) error
	// Start is Save for a background response, whose request is sent to this API later.
	Start(ctx context.Context, caller, id, previous string, content, request []byte) error
	// Load returns a content and the status of a background response that has not ended, else "". release frees the
	// memory of the content.
	Load(ctx context.Context, caller, id string) (content []byte, status string, release func(), err error)
	// LoadChain returns the contents of a response and of those before it, the oldest first.
	LoadChain(ctx context.Context, caller, id string) (contents [][]byte, release func(), err error)
	// CheckContinuable returns an Invalid fault if a response cannot be continued.
	CheckContinuable(ctx context.Context, caller, id string) error
	// Cancel cancels a background response, unless it has ended.
	Cancel(ctx context.Context, caller, id string) error
	Delete(ctx context.Context, caller, id string) error
}

// previousResponse is the member that continues a stored response.
const previousResponse = "previous_response_id"

// content is what is stored of a response: the response and the items of its request, as the client sent them.
type content struct {
	Response Response          `json:"response"`
	Input    []json.RawMessage `json:"input"`
}

// encode returns the content as JSON. It refuses what could not be read again, because it is one level deeper than the
// request.
func (c content) encode() ([]byte, error) {
	text, err := encode(c)
	if err == nil && !json.Valid(text) {
		err = fault.New(fault.Invalid, "A response with so many nested lists and objects cannot be stored.")
	}
	return text, err
}

// encode returns a value as JSON. Unlike json.Marshal it leaves <, > and & as they are: stored texts must not be longer
// than those that the client sent.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // Encode appends a line feed
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// newResponseID returns the id of a new response.
func (s *Service) newResponseID() string {
	if s.store == nil {
		return "resp_" + randomHex()
	}
	return s.store.NewID()
}

// willStore reports whether the response to a request will be stored. A request that asks for it explicitly is refused
// if that is impossible.
func (s *Service) willStore(ctx context.Context, r ResponseRequest) (bool, error) {
	switch {
	case r.Store != nil && !*r.Store || s.store == nil:
		return false, nil
	case r.Store == nil && telemetry.FromContext(ctx).Background: // a line of a batch has its answer in a file
		return false, nil
	}
	err := s.store.Ready()
	if err != nil && r.Store == nil {
		return false, nil
	}
	return err == nil, err
}

// store stores the response. If that fails, the response says so.
func (w *responseWriter) store(ctx context.Context) {
	if !w.response.Store {
		return
	}
	w.response.Store = w.service.save(ctx, w.caller, w.response, w.request) == nil
}

func (s *Service) save(ctx context.Context, caller string, response Response, r ResponseRequest) error {
	release, err := s.store.Reserve(ctx, r.Input.size())
	if err != nil {
		return err
	}
	defer release()
	text, err := content{response, r.Input.stored()}.encode()
	if err != nil {
		return err
	}
	return s.store.Save(ctx, caller, response.ID, r.previous(), text)
}

// size returns the bytes of the items as the client sent them.
func (items Items) size() (bytes int64) {
	for _, item := range items {
		bytes += int64(len(item.Raw))
	}
	return bytes
}

func (r *ResponseRequest) previous() string { return *cmp.Or(r.PreviousResponseID, new("")) }

// history returns the items of a stored response and of those before it, none if id is nil. release frees their memory.
func (s *Service) history(ctx context.Context, caller string, id *string) (items Items, release func(), err error) {
	if id == nil {
		return nil, func() {}, nil
	}
	if s.store == nil {
		return nil, nil, chat.Refuse([]any{previousResponse},
			"%s is not supported: this service stores no responses; send the whole conversation", previousResponse)
	}
	if err := s.store.CheckContinuable(ctx, caller, *id); err != nil {
		return nil, nil, notContinuable(err, *id)
	}
	chain, release, err := s.store.LoadChain(ctx, caller, *id)
	if err != nil {
		return nil, nil, notContinuable(err, *id)
	}
	for _, text := range chain {
		var c struct {
			Response struct{ Output Items }
			Input    Items
		}
		if err := json.Unmarshal(text, &c); err != nil {
			release()
			return nil, nil, fault.Wrap(fault.Internal, err, "a stored response cannot be read")
		}
		items = slices.Concat(items, c.Input, c.Response.Output)
	}
	for i := range items {
		items[i].Raw = nil
	}
	return items, release, nil
}

// notContinuable turns the error of a response that is to be continued into one of the request.
func notContinuable(err error, id string) error {
	f := fault.As(err)
	switch f.Kind {
	case fault.NotFound:
		message := "Previous response with id '" + fault.Clip(id) + "' not found."
		if !strings.Contains(f.Message, "'"+fault.Clip(id)+"'") { // another one of the conversation
			message = "The conversation of '" + fault.Clip(id) + "' is incomplete: " + f.Message
		}
		missing := chat.Refuse([]any{previousResponse}, "%s", message)
		missing.Subject = fault.Response
		return missing
	case fault.Invalid:
		return f.Under(previousResponse)
	}
	return f
}

// stored returns the items as they are stored: as the client sent them, with the members that OpenAI adds.
func (items Items) stored() []json.RawMessage {
	stored := make([]json.RawMessage, len(items))
	for i, item := range items {
		stored[i] = item.stored()
	}
	return stored
}

// MarshalJSON returns the items as the client sent them.
func (items Items) MarshalJSON() ([]byte, error) {
	raw := make([]json.RawMessage, len(items))
	for i, item := range items {
		raw[i] = item.Raw
	}
	return encode(raw)
}

// idPrefixes are the beginnings of ids, by type of item.
var idPrefixes = map[string]string{
	"message": "msg_", "function_call": "fc_", "function_call_output": "fco_", "reasoning": "rs_",
}

// stored returns the item with a type, an id and a status, and with content as a list of parts.
func (item *Item) stored() json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(item.Raw, &members) != nil {
		return item.Raw
	}
	setDefault := func(members map[string]json.RawMessage, name string, value any) {
		if text, err := encode(value); err == nil && !chat.IsSet(members[name]) {
			members[name] = text
		}
	}
	setDefault(members, "type", item.Type)
	setDefault(members, "id", idPrefixes[item.Type]+randomHex())
	setDefault(members, "status", completed)
	if item.Type == "message" {
		members["content"] = storedContent(members["content"], item.Role, setDefault)
	}
	text, err := encode(members)
	if err != nil {
		return item.Raw
	}
	return text
}

// storedContent returns content as a list of parts: a text becomes one, and parts get the members that OpenAI adds.
func storedContent(
	raw json.RawMessage, role string, setDefault func(map[string]json.RawMessage, string, any),
) json.RawMessage {
	var parts []map[string]json.RawMessage
	if text, ok := chat.ReadText([]byte(raw)); ok {
		kind := "input_text"
		if role == "assistant" {
			kind = "output_text"
		}
		part := map[string]json.RawMessage{}
		setDefault(part, "type", kind)
		setDefault(part, "text", text)
		parts = append(parts, part)
	} else if json.Unmarshal(raw, &parts) != nil {
		return raw
	}
	for _, part := range parts {
		switch string(part["type"]) {
		case `"input_image"`:
			setDefault(part, "detail", "auto")
		case `"output_text"`:
			setDefault(part, "annotations", []any{})
		}
	}
	text, err := encode(parts)
	if err != nil {
		return raw
	}
	return text
}

// notStored is the error for an id if no response is stored.
func notStored(id string) error {
	return fault.Missing(fault.Response, "Response with id '%s' not found.", fault.Clip(id))
}

// Retrieve returns a stored response.
func (s *Service) Retrieve(ctx context.Context, caller, id, stream string) (Response, error) {
	if stream == "true" {
		return Response{}, chat.Refuse([]any{"stream"}, "a stored response cannot be streamed")
	}
	if s.store == nil {
		return Response{}, notStored(id)
	}
	text, status, release, err := s.store.Load(ctx, caller, id)
	if err != nil {
		return Response{}, err
	}
	defer release()
	var c struct{ Response Response }
	if err := json.Unmarshal(text, &c); err != nil {
		return Response{}, fault.Wrap(fault.Internal, err, "a stored response cannot be read")
	}
	switch {
	case status == "cancelling": // OpenAI has no such state
		c.Response.Status = cancelled
	case status != "":
		c.Response.Status = Status(status)
	}
	return c.Response, nil
}

// Delete deletes a stored response.
func (s *Service) Delete(ctx context.Context, caller, id string) (DeletedResponse, error) {
	if s.store == nil {
		return DeletedResponse{}, notStored(id)
	}
	err := s.store.Delete(ctx, caller, id)
	return DeletedResponse{ID: id, Object: "response", Deleted: err == nil}, err
}

// Cancel cancels a background response. One that has ended is returned unchanged.
func (s *Service) Cancel(ctx context.Context, caller, id string) (Response, error) {
	response, err := s.Retrieve(ctx, caller, id, "")
	switch {
	case err != nil:
		return response, err
	case !response.Background:
		return response, chat.Refuse([]any{"id"}, "Cannot cancel a synchronous response.")
	}
	if err := s.store.Cancel(ctx, caller, id); err != nil {
		return response, err
	}
	return s.Retrieve(ctx, caller, id, "")
}

// itemQuery has the parameters of a list of items, "" for those that are not given.
type itemQuery struct{ after, limit, order string }

// Items on one page of a list.
const (
	defaultItems = 20
	maxItems     = 100
)

// ListItems returns a page of the items that the model received before a response: those of its request, and those of
// the responses before it.
func (s *Service) ListItems(ctx context.Context, caller, id string, q itemQuery) (ItemList, error) {
	list := ItemList{Object: "list", Data: []json.RawMessage{}}
	limit, err := strconv.Atoi(cmp.Or(q.limit, strconv.Itoa(defaultItems)))
	if err != nil {
		return list, fault.Field("int_parsing", q.limit, []any{"limit"}, "Input should be a valid integer")
	}
	for _, f := range []*fault.Error{
		fault.Between(limit, 1, maxItems, "limit"),
		fault.OneOf(cmp.Or(q.order, "desc"), []string{"asc", "desc"}, "order"),
	} {
		if f != nil {
			return list, f
		}
	}
	if s.store == nil {
		return list, notStored(id)
	}
	chain, release, err := s.store.LoadChain(ctx, caller, id)
	if err != nil {
		return list, err
	}
	defer release()
	var items []json.RawMessage
	for i, text := range chain {
		var c struct {
			Response struct{ Output []json.RawMessage }
			Input    []json.RawMessage
		}
		if err := json.Unmarshal(text, &c); err != nil {
			return list, fault.Wrap(fault.Internal, err, "a stored response cannot be read")
		}
		items = append(items, c.Input...)
		if i < len(chain)-1 {
			items = append(items, c.Response.Output...)
		}
	}
	ids := makeDistinct(items)
	if q.order != "asc" {
		slices.Reverse(items)
		slices.Reverse(ids)
	}
	if q.after != "" {
		at := slices.Index(ids, q.after)
		if at < 0 {
			return list, fault.Missing(fault.Cursor,
				"There is nothing with the id %s in this list.", fault.Clip(q.after)).Under("after")
		}
		items = items[at+1:]
		ids = ids[at+1:]
	}
	list.HasMore = len(items) > limit
	list.Data = append(list.Data, items[:min(limit, len(items))]...)
	if n := len(list.Data); n > 0 {
		list.FirstID = &ids[0]
		list.LastID = &ids[n-1]
	}
	return list, nil
}

// makeDistinct returns the ids of items, which it changes so that no two have the same: clients may send an item again,
// and pages are found by the id that they follow.
func makeDistinct(items []json.RawMessage) []string {
	ids := make([]string, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		id := itemID(item)
		unique := id
		for seen[unique] || unique == "" {
			unique += "_" + strconv.Itoa(i)
		}
		if unique != id {
			items[i] = withID(item, unique)
		}
		ids[i] = unique
		seen[unique] = true
	}
	return ids
}

func withID(item json.RawMessage, id string) json.RawMessage {
	members := map[string]json.RawMessage{}
	text, err := encode(id)
	if err == nil {
		err = json.Unmarshal(item, &members)
	}
	if err != nil {
		return item
	}
	members["id"] = text
	if text, err = encode(members); err != nil {
		return item
	}
	return text
}

func itemID(item json.RawMessage) string {
	var members struct{ ID string }
	_ = json.Unmarshal(item, &members) // an item without an id has none
	return members.ID
}
