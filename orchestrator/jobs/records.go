package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

// idTimeDigits is how many hexadecimal digits of an id are its time.
const idTimeDigits = 12

// NewID returns a new id: the prefix, such as "batch_", the time in ms, so that ids sort by age, and random bytes.
func NewID(prefix string, at time.Time) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	return prefix + fmt.Sprintf("%0*x", idTimeDigits, at.UnixMilli()) + hex.EncodeToString(random[:])
}

// createdAt returns the time in an id of NewID, or the zero time for any other text.
func createdAt(id string) time.Time {
	digits := id[strings.IndexAny(id, "_-")+1:]
	ms, err := strconv.ParseInt(digits[:min(idTimeDigits, len(digits))], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Owner returns the owner of what a caller stores. All callers without a key are one owner.
func Owner(caller string) string { return cmp.Or(caller, "everyone") }

// Find returns the caller's record with an id, which may be any text, or queue.ErrNone.
func Find[Record any](ctx context.Context, t *queue.Table[Record], caller, id string) (r Record, err error) {
	if len(id) > 64 || id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return r, queue.ErrNone // not a key
	}
	return t.Get(ctx, Owner(caller)+"."+id)
}

// Quota bounds the records of one kind that one owner may store.
type Quota struct {
	Noun       string // for one record, such as "file"
	MaxRecords int
	MaxBytes   int64 // of all records; does not bind callers without a key, who are one owner
	// Kind and RetryAfter belong to the error of an exceeded quota; Hint ends its message.
	Kind       fault.Kind
	RetryAfter time.Duration
	Hint       string
}

// CheckQuota returns an error if one more record of size bytes would exceed the quota of its owner. sizeOf returns the
// bytes of a stored record.
func CheckQuota[Record, Summary any](
	ctx context.Context, q Quota, x *queue.Index[Record, Summary], caller string, size int64,
	sizeOf func(Summary) int64,
) error {
	records, err := x.Records(ctx, Owner(caller))
	if err != nil {
		return err
	}
	for _, r := range records {
		size += sizeOf(r)
	}
	exceeded := &fault.Error{Kind: q.Kind, RetryAfter: q.RetryAfter}
	switch {
	case len(records) >= q.MaxRecords:
		exceeded.Message = fmt.Sprintf("There are %d %ss already, the most that a key may have%s",
			len(records), q.Noun, q.Hint)
	case caller != "" && size > q.MaxBytes:
		exceeded.Message = fmt.Sprintf("With this %[1]s the %[1]ss of this key would take %[2]d bytes, %[3]d are allowed%[4]s",
			q.Noun, size, q.MaxBytes, q.Hint)
	default:
		return nil
	}
	return exceeded
}

// Page is a part of a list, in the form of OpenAI's lists.
type Page[Item any] struct {
	Object  string  `json:"object"` // "list"
	Data    []Item  `json:"data"`
	FirstID *string `json:"first_id"` // null: the page is empty
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// NewPage returns a page of items. hasMore says whether the list continues after them.
func NewPage[Item any](items []Item, hasMore bool, id func(Item) string) Page[Item] {
	page := Page[Item]{Object: "list", Data: items, HasMore: hasMore}
	if n := len(items); n > 0 {
		page.FirstID = new(id(items[0]))
		page.LastID = new(id(items[n-1]))
	}
	return page
}

// ReadPage reads the records of keys and returns the page of their items. It leaves out records that have just been
// deleted.
func ReadPage[Record, Item any](
	ctx context.Context, t *queue.Table[Record], keys []string, hasMore bool,
	item func(Record) Item, id func(Item) string,
) (page Page[Item], err error) {
	items := []Item{}
	for _, key := range keys {
		r, err := t.Get(ctx, key)
		if errors.Is(err, queue.ErrNone) {
			continue
		}
		if err != nil {
			return page, err
		}
		items = append(items, item(r))
	}
	return NewPage(items, hasMore, id), nil
}
