package gateway

import (
	"os"
	"testing"
)

func TestLicenseEqualsRepositoryLicense(t *testing.T) {
	want, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if licenseText != string(want) {
		t.Error("license.txt differs from LICENSE: copy it")
	}
}
