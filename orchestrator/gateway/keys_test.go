package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/orchestrator/fault"
)

// Lines of any length are keys.
func TestKeysAfterALongLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	long := strings.Repeat("x", 1<<20)
	if err := os.WriteFile(file, []byte("alpha\r\n# "+long+"\n"+long+"\nomega"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"alpha", long, "omega"} {
		if !keys.has(key) {
			t.Errorf("%.10s… of %d bytes is no key", key, len(key))
		}
	}
}

// Only Reload reads the file, and it keeps the old keys if the new file has none.
func TestKeysChangeWithReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	write("new\n")
	if keys.has("new") || !keys.has("old") {
		t.Error("the file was read by a request")
	}
	if err := keys.Reload(); err != nil || !keys.has("new") || keys.has("old") {
		t.Errorf("after Reload: new is %t, old is %t, %v", keys.has("new"), keys.has("old"), err)
	}
	write("# none\n")
	if err := keys.Reload(); err == nil || !keys.has("new") {
		t.Errorf("after a file without keys: new is %t, %v", keys.has("new"), err)
	}
}

// The error of a gRPC call names the key of its metadata, not a header of HTTP.
func TestKeyOfGRPC(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	for authorization, valid := range map[string]bool{
		"Bearer key": true, "bearer  key": true, "": false, "key": false, "Basic key": false, "Bearer other": false, "Bearer ": false,
	} {
		f := keys.CheckHeader(authorization)
		if valid != (f == nil) || f != nil && (f.Kind != fault.Unauthorized ||
			!strings.Contains(f.Message, "authorization: Bearer <key>, in the metadata") || strings.Contains(f.Message, "X-Api-Key")) {
			t.Errorf("%q: %v", authorization, f)
		}
	}
}
