package handlers

import (
	"slices"
	"testing"
)

func TestNothingNamesAnotherPlaceForAWS(t *testing.T) {
	environ := []string{"PATH=/bin", "AWS_ENDPOINT_URL=https://a", "AWS_ENDPOINT_URL_S3=https://b", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true", "HTTPS_PROXY=http://c"}
	got := withoutEndpoints(environ)
	if want := []string{"PATH=/bin", "HTTPS_PROXY=http://c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(environ) != 5 || environ[1] != "AWS_ENDPOINT_URL=https://a" {
		t.Error("the environment that was handed in is changed")
	}
}
