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

// IsID reports whether a text may be an id, and so a part of a key. No such id need exist.
func IsID(text string) bool {
	return text != "" && len(text) <= 64 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// CreatedAt returns the time in an id of NewID, or the zero time for any other text.
func CreatedAt(id string) time.Time {
	digits := id[strings.IndexAny(id, "_-")+1:]
	ms, err := strconv.ParseInt(digits[:min(idTimeDigits, len(digits))], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Owner is the owner of what a caller stores. All callers without a key are one owner.
func Owner(caller string) string { return cmp.Or(caller, "everyone") }

// Usage is what an owner stores in one table.
type Usage struct {
	Records int
	Bytes   int64
}

// UsageOf sums up the records of an owner. size is the bytes of one.
func UsageOf[Record, Summary any](
	ctx context.Context, x *queue.Index[Record, Summary], owner string, size func(Summary) int64,
) (u Usage, err error) {
	err = x.Each(ctx, owner, func(_ string, s Summary) error {
		u.Records++
		u.Bytes += size(s)
		return nil
	})
	return u, err
}

// Page is a part of a list, in the form of OpenAI's lists.
type Page[Item any] struct {
	Object  string  `json:"object"` // "list"
	Data    []Item  `json:"data"`
	FirstID *string `json:"first_id"` // null: the page is empty
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// NewPage returns a page of items, after which the list has more or not.
func NewPage[Item any](items []Item, hasMore bool, id func(Item) string) Page[Item] {
	page := Page[Item]{Object: "list", Data: items, HasMore: hasMore}
	if n := len(items); n > 0 {
		page.FirstID = new(id(items[0]))
		page.LastID = new(id(items[n-1]))
	}
	return page
}

// Items reads the records of keys and returns item of each. It leaves out records that have just been deleted.
func Items[Record, Item any](
	ctx context.Context, t *queue.Table[Record], keys []string, item func(Record) Item,
) ([]Item, error) {
	items := []Item{}
	for _, key := range keys {
		r, err := t.Get(ctx, key)
		if errors.Is(err, queue.ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item(r))
	}
	return items, nil
}
