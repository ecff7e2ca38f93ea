//go:build race

package chat_test

// raceEnabled is true with -race, under which sync.Pool drops items.
const raceEnabled = true
